"""From a session to what it replays: tests of events, their paths, and their kinds."""
