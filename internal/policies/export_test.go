package policies

// Expire makes what was read of the database too old to be relied on.
func (s *Policies) Expire() { s.confirmed.Store(nil) }
