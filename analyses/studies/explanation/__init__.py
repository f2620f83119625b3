"""Which account explains the replay of an animal, and which accounts a maze could tell apart."""
