package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	junctor "github.com/junctor-mcp/junctor"
)

// hashCost is the argon2id parameters of a password hash.
type hashCost struct {
	memory uint32 // KiB
	passes uint32
	lanes  uint8
}

// defaultHashCost is 19 MiB and two passes, the minimum that OWASP recommends for
// argon2id. Stored hashes carry their own parameters, so the default may change.
func defaultHashCost() hashCost { return hashCost{19 * 1024, 2, 1} }

const (
	saltLength = 16
	hashLength = 32
)

// Upper bounds for the parameters of a stored hash. They keep a row that was
// edited by hand from taking all memory or an unbounded time.
const (
	maxHashMemory = 1 << 20 // KiB
	maxHashPasses = 20
)

// maxConcurrentHashes is how many passwords are hashed at a time. More would take memory
// from calls, and would let sign-in attempts exhaust it.
const maxConcurrentHashes = 2

// The length of a password. There is no rule about its characters.
const (
	minPassword = 12   // characters
	maxPassword = 1024 // bytes
)

// decoyHash returns a hash of the default cost that matches no known password. Checking a
// password against it takes as long as for a real user, so that the time of a sign-in
// does not reveal whether a name exists.
func (i *Identity) decoyHash() string {
	return i.passwordCost.encodePHC(make([]byte, saltLength), make([]byte, hashLength))
}

// encodePHC returns a hash in the PHC string format, in which it is stored.
func (c hashCost) encodePHC(salt, sum []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.passes, c.lanes, b64.EncodeToString(salt), b64.EncodeToString(sum))
}

// checkPassword returns an invalid error if password is not acceptable for the user. The
// error does not repeat the password.
func checkPassword(name, password string) error {
	n := utf8.RuneCountInString(password)
	switch {
	case n < minPassword:
		return junctor.Errorf(junctor.CodeInvalid, "the password has %d characters; use %d or more, such as several words", n, minPassword)
	case len(password) > maxPassword:
		return junctor.Errorf(junctor.CodeInvalid, "the password is too long; the limit is %d bytes", maxPassword)
	case strings.EqualFold(password, name):
		return junctor.Errorf(junctor.CodeInvalid, "the password must not be the user name")
	}
	return nil
}

// hashPassword returns the hash of a password in PHC format. It may wait for a free slot.
func (i *Identity) hashPassword(ctx context.Context, password string) (string, error) {
	done, err := i.acquireHashSlot(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt) // never fails
	return i.passwordCost.encodePHC(salt, argon2.IDKey([]byte(password), salt, i.passwordCost.passes, i.passwordCost.memory, i.passwordCost.lanes, hashLength)), nil
}

// verifyPassword reports whether a hash in PHC format is that of the password. It may
// wait for a free slot. It returns an internal error if the hash is malformed.
func (i *Identity) verifyPassword(ctx context.Context, phc, password string) (bool, error) {
	if len(password) > maxPassword {
		return false, nil
	}
	c, salt, sum, err := parsePHC(phc)
	if err != nil {
		return false, err
	}
	done, err := i.acquireHashSlot(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	got := argon2.IDKey([]byte(password), salt, c.passes, c.memory, c.lanes, hashLength)
	return subtle.ConstantTimeCompare(got, sum) == 1, nil
}

// parsePHC reads a hash in PHC format. It refuses parameters above our bounds.
func parsePHC(phc string) (c hashCost, salt, sum []byte, err error) {
	var version int
	parts := strings.Split(phc, "$")
	fault := junctor.Errorf(junctor.CodeInternal, "the stored password cannot be read; set a new one with junctor user password")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return hashCost{}, nil, nil, fault
	}
	_, err1 := fmt.Sscanf(parts[2], "v=%d", &version)
	_, err2 := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.lanes)
	salt, err3 := base64.RawStdEncoding.DecodeString(parts[4])
	sum, err4 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || version != argon2.Version || len(sum) != hashLength ||
		c.memory > maxHashMemory || c.passes == 0 || c.passes > maxHashPasses || c.lanes == 0 {
		return hashCost{}, nil, nil, fault
	}
	return c, salt, sum, nil
}

// acquireHashSlot waits until a password may be hashed. The caller must call done
// afterwards.
func (i *Identity) acquireHashSlot(ctx context.Context) (done func(), err error) {
	select {
	case i.hashSlots <- struct{}{}:
		return func() { <-i.hashSlots }, nil
	case <-ctx.Done():
		return nil, junctor.AsError(ctx.Err())
	}
}
