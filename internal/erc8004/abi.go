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

// Word is the unit of the EVM: a topic, a hash, one slot of encoded data.
type Word [32]byte

// Address is an account or a contract.
type Address [20]byte

func (w Word) String() string { return "0x" + hex.EncodeToString(w[:]) }

// IsZero says whether nothing was put there.
func (w Word) IsZero() bool { return w == Word{} }

// String is the address in lower case, as this package compares them.
func (a Address) String() string { return "0x" + hex.EncodeToString(a[:]) }

// IsZero says whether it is nobody's.
func (a Address) IsZero() bool { return a == Address{} }

// MarshalText is the hexadecimal form, in JSON too.
func (w Word) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// MarshalText is the hexadecimal form, in JSON too.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (w *Word) UnmarshalText(b []byte) error { return unhex(w[:], string(b)) }

// UnmarshalText reads what MarshalText writes.
func (a *Address) UnmarshalText(b []byte) error { return unhex(a[:], string(b)) }

// ParseAddress reads 0x and forty digits, in either case.
func ParseAddress(s string) (Address, error) {
	var a Address
	return a, unhex(a[:], s)
}

func unhex(into []byte, s string) error {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok {
		digits, ok = strings.CutPrefix(s, "0X")
	}
	if !ok || len(digits) != 2*len(into) {
		return fmt.Errorf("%q is not 0x and %d hexadecimal digits", ipfs.Brief(s), 2*len(into))
	}
	_, err := hex.Decode(into, []byte(digits))
	return err
}

// Keccak is the hash of the EVM, which is not the SHA-3 that was standardised.
func Keccak(data []byte) Word {
	h := sha3.NewLegacyKeccak256()
	h.Write(data)
	return Word(h.Sum(nil))
}

var errShort = errors.New("the data ends before its values do")

// slot gives the n-th slot of encoded data.
func slot(data []byte, n int) (Word, error) {
	if n < 0 || n >= len(data)/32 {
		return Word{}, errShort
	}
	return Word(data[32*n : 32*n+32]), nil
}

// tail gives the bytes that a slot points to. Offsets and lengths are a
// stranger's: they are compared by subtraction, since a sum could pass over the
// end of a number.
func tail(data []byte, at Word) ([]byte, error) {
	offset, ok := small(at)
	if !ok || offset > uint64(len(data)) || uint64(len(data))-offset < 32 {
		return nil, errShort
	}
	rest := data[offset:]
	length, ok := small(Word(rest[:32]))
	if !ok || length > uint64(len(rest))-32 {
		return nil, errShort
	}
	return rest[32 : 32+length], nil
}

// small reads a word that must fit 63 bits.
func small(w Word) (uint64, bool) {
	n := new(big.Int).SetBytes(w[:])
	return n.Uint64(), n.IsUint64() && n.Uint64() < 1<<63
}

// unsigned reads a number of so many bits.
func unsigned(w Word, bits int) (*big.Int, error) {
	n := new(big.Int).SetBytes(w[:])
	if n.BitLen() > bits {
		return nil, fmt.Errorf("%s does not fit uint%d", w, bits)
	}
	return n, nil
}

// signed reads a number in two's complement of so many bits.
func signed(w Word, bits int) (*big.Int, error) {
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

func address(w Word) (Address, error) {
	if [12]byte(w[:12]) != [12]byte{} {
		return Address{}, fmt.Errorf("%s is no address", w)
	}
	return Address(w[12:]), nil
}
