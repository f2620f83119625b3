"""What two or more learners share, each part once."""
