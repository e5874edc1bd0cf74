"""Steps of the call machine: each takes the state, the call and an event and returns the changed call or a verdict."""
