package identity

// Cheapen makes passwords cost next to nothing, for tests with many.
func (i *Identity) Cheapen() { i.passwordCost = hashCost{64, 1, 1} }
