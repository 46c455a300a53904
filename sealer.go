package junctor

// Sealer encrypts and authenticates data that clients, browsers and agents hold for an
// instance, such as session ids and the states of logins. Every replica of the instance
// opens what another one sealed. Package seal implements it.
type Sealer interface {
	// Seal returns the sealed form of plaintext as text for a URL, header or cookie. A
	// purpose keeps data of one kind from being used as another.
	Seal(purpose string, plaintext []byte) string
	// Open returns the plaintext. The error is invalid, and the same for every reason, if
	// the text was changed, or was sealed for another purpose or by another instance.
	Open(purpose, text string) ([]byte, error)
}
