"""From a recording to a session: running, place fields, experience, and candidate events."""
