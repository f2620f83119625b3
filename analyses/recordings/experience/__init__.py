"""The experience of an animal: its moves from state to state, lap by lap."""
