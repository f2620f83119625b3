"""What learners are made of, each part once."""
