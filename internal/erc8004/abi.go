package erc8004

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"golang.org/x/crypto/sha3"

	"github.com/junctor-mcp/junctor/internal/ipfs"
)

// Word is the unit of the EVM: a topic, a hash, or one slot of encoded data.
type Word [32]byte

// Address is the address of an account or a contract.
type Address [20]byte

// String returns 0x and the hexadecimal digits.
func (w Word) String() string { return "0x" + hex.EncodeToString(w[:]) }

// IsZero reports whether all bytes are zero, which stands for an absent value.
func (w Word) IsZero() bool { return w == Word{} }

// String returns the address in lower case. This package compares addresses in
// that form.
func (a Address) String() string { return "0x" + hex.EncodeToString(a[:]) }

// IsZero reports whether the address is absent.
func (a Address) IsZero() bool { return a == Address{} }

// MarshalText implements encoding.TextMarshaler with the hexadecimal form, also
// in JSON.
func (w Word) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// MarshalText implements encoding.TextMarshaler with the hexadecimal form, also
// in JSON.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *Word) UnmarshalText(b []byte) error { return decodeHex(w[:], string(b)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Address) UnmarshalText(b []byte) error { return decodeHex(a[:], string(b)) }

// ParseAddress parses 0x and forty hexadecimal digits, in either case. It does
// not check the checksum of mixed case.
func ParseAddress(s string) (Address, error) {
	var a Address
	return a, decodeHex(a[:], s)
}

// decodeHex decodes 0x and exactly as many digits as fill the slice.
func decodeHex(into []byte, s string) error {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok {
		digits, ok = strings.CutPrefix(s, "0X")
	}
	if !ok || len(digits) != 2*len(into) {
		return fmt.Errorf("%q must be 0x and %d hexadecimal digits", ipfs.Shorten(s), 2*len(into))
	}
	_, err := hex.Decode(into, []byte(digits))
	return err
}

// Keccak returns the Keccak-256 hash of the EVM, which differs from the
// standardised SHA-3.
func Keccak(data []byte) Word {
	h := sha3.NewLegacyKeccak256()
	h.Write(data)
	return Word(h.Sum(nil))
}

// errDataTooShort means that ABI-encoded data is shorter than its values
// require.
var errDataTooShort = errors.New("the data ends before all values are read")

// readSlot returns the n-th slot of encoded data.
func readSlot(data []byte, n int) (Word, error) {
	if n < 0 || n >= len(data)/32 {
		return Word{}, errDataTooShort
	}
	return Word(data[32*n : 32*n+32]), nil
}

// readTail returns the bytes that a slot points to. Offsets and lengths come
// from a stranger: they are compared by subtraction, since a sum could
// overflow.
func readTail(data []byte, at Word) ([]byte, error) {
	offset, ok := toUint63(at)
	if !ok || offset > uint64(len(data)) || uint64(len(data))-offset < 32 {
		return nil, errDataTooShort
	}
	rest := data[offset:]
	length, ok := toUint63(Word(rest[:32]))
	if !ok || length > uint64(len(rest))-32 {
		return nil, errDataTooShort
	}
	return rest[32 : 32+length], nil
}

// toUint63 converts a word that must fit 63 bits.
func toUint63(w Word) (uint64, bool) {
	n := new(big.Int).SetBytes(w[:])
	return n.Uint64(), n.IsUint64() && n.Uint64() < 1<<63
}

// toUnsigned converts a word to an unsigned number of so many bits.
func toUnsigned(w Word, bits int) (*big.Int, error) {
	n := new(big.Int).SetBytes(w[:])
	if n.BitLen() > bits {
		return nil, fmt.Errorf("%s does not fit uint%d", w, bits)
	}
	return n, nil
}

// toSigned converts a word to a number in two's complement of so many bits.
func toSigned(w Word, bits int) (*big.Int, error) {
	n := new(big.Int).SetBytes(w[:])
	if n.Bit(255) == 1 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 256))
	}
	limit := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	if n.Cmp(limit) >= 0 || n.Cmp(new(big.Int).Neg(limit)) < 0 {
		return nil, fmt.Errorf("%s does not fit int%d", w, bits)
	}
	return n, nil
}

// toAddress converts a word to an address. The upper twelve bytes must be zero.
func toAddress(w Word) (Address, error) {
	if [12]byte(w[:12]) != [12]byte{} {
		return Address{}, fmt.Errorf("%s is not an address", w)
	}
	return Address(w[12:]), nil
}
