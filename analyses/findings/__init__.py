"""Published findings, and how learners are held against them."""
