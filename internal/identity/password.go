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

// hashCost is what hashing a password takes.
type hashCost struct {
	memory uint32 // KiB
	passes uint32
	lanes  uint8
}

// defaultHashCost is 19 MiB and two passes, the least that OWASP recommends for
// argon2id. What is stored says what it was made with, so that it may change.
func defaultHashCost() hashCost { return hashCost{19 * 1024, 2, 1} }

const (
	saltLength = 16
	hashLength = 32
)

// What a stored hash may ask for, so that a row somebody wrote by hand takes
// neither all memory nor for ever.
const (
	maxHashMemory = 1 << 20 // KiB
	maxHashPasses = 20
)

// maxConcurrentHashes is how many passwords are hashed at a time: the memory for more
// than a few is better spent on calls.
const maxConcurrentHashes = 2

// How long a password may be. Length counts, and nothing else is asked for.
const (
	minPassword = 12   // characters
	maxPassword = 1024 // bytes
)

// decoyHash is a hash of the common cost that no password is known to have:
// checking a password of a user who does not exist takes as long as that of one
// who does.
func (i *Identity) decoyHash() string {
	return i.passwordCost.encodePHC(make([]byte, saltLength), make([]byte, hashLength))
}

// encodePHC is how a hash is stored.
func (c hashCost) encodePHC(salt, sum []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.passes, c.lanes, b64.EncodeToString(salt), b64.EncodeToString(sum))
}

// checkPassword refuses what is no password for this user, without repeating it.
func checkPassword(name, password string) error {
	n := utf8.RuneCountInString(password)
	switch {
	case n < minPassword:
		return junctor.Errorf(junctor.CodeInvalid, "the password has %d characters: use %d or more, such as a few words", n, minPassword)
	case len(password) > maxPassword:
		return junctor.Errorf(junctor.CodeInvalid, "the password is too long: the most is %d bytes", maxPassword)
	case strings.EqualFold(password, name):
		return junctor.Errorf(junctor.CodeInvalid, "the password must not be the name")
	}
	return nil
}

// hashPassword gives a password's hash in PHC form.
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

// verifyPassword says whether a hash in PHC form is the password's.
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

func parsePHC(phc string) (c hashCost, salt, sum []byte, err error) {
	var version int
	parts := strings.Split(phc, "$")
	fault := junctor.Errorf(junctor.CodeInternal, "a stored password cannot be read: set a new one with junctor user password")
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

// acquireHashSlot waits until a password may be hashed; done ends it.
func (i *Identity) acquireHashSlot(ctx context.Context) (done func(), err error) {
	select {
	case i.hashSlots <- struct{}{}:
		return func() { <-i.hashSlots }, nil
	case <-ctx.Done():
		return nil, junctor.AsError(ctx.Err())
	}
}
