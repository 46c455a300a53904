package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// TokenKind is what a program holds.
type TokenKind string

// What programs hold for a consent.
const (
	TokenCode    TokenKind = "code"    // becomes tokens once
	TokenAccess  TokenKind = "access"  // opens a door
	TokenRefresh TokenKind = "refresh" // becomes new tokens once
)

// ConsentToken is what is kept of a code or token that a program holds.
type ConsentToken struct {
	Hash      [32]byte
	Kind      TokenKind
	Consent   string // by id
	Family    string // all that came of one code
	Scopes    []junctor.Scope
	Redirect  string // of a code: where it was sent
	Challenge string // of a code: what its verifier hashes to
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    time.Time
	Salt      []byte // of a used one: what its followers were made with
}

// ConsentToken gives what is kept of a token, whosever it is, and what it is
// for; not_found when there is none.
func (s *Store) ConsentToken(ctx context.Context, hash [32]byte) (ConsentToken, junctor.Consent, error) {
	type both struct {
		token   ConsentToken
		consent junctor.Consent
	}
	b, err := one(ctx, s, func(row scanner) (b both, err error) {
		t := &b.token
		var hash []byte
		var scopes string
		var created, expires int64
		var used sql.NullInt64
		err = scanConsentTo(row, &b.consent, &hash, &t.Kind, &t.Family, &scopes, &t.Redirect, &t.Challenge, &created, &expires, &used, &t.Salt)
		if err != nil {
			return b, err
		}
		if copy(t.Hash[:], hash) != len(t.Hash) {
			return b, fmt.Errorf("the hash of a token has %d bytes", len(hash))
		}
		t.Consent, t.CreatedAt, t.ExpiresAt, t.UsedAt = b.consent.ID, fromMicros(created), fromMicros(expires), fromMaybeMicros(used)
		return b, json.Unmarshal([]byte(scopes), &t.Scopes)
	}, `SELECT `+consentColumns+`, t.hash, t.kind, t.family, t.scopes, t.redirect, t.challenge, t.created_at, t.expires_at, t.used_at, t.salt
		FROM consent_tokens t JOIN consents c ON c.tenant_id = t.tenant_id AND c.id = t.consent_id WHERE t.hash = ?`, hash[:])
	if errors.Is(err, sql.ErrNoRows) {
		return ConsentToken{}, junctor.Consent{}, missing("there is no such token")
	}
	if err != nil {
		return ConsentToken{}, junctor.Consent{}, s.fail(ctx, err, "read a token")
	}
	return b.token, b.consent, nil
}

// UseToken uses up a code or token and stores what follows it, in one
// transaction: of any number of callers, in any number of processes, one is the
// first. For the others nothing changes.
func (t *Tenant) UseToken(ctx context.Context, used ConsentToken, salt []byte, at time.Time, next ...ConsentToken) (first bool, err error) {
	err = t.s.tx(ctx, func(tx *sql.Tx) error {
		n, err := t.s.exec(ctx, tx, `UPDATE consent_tokens SET used_at = ?, salt = ? WHERE tenant_id = ? AND hash = ? AND used_at IS NULL`,
			micros(at), salt, string(t.id), used.Hash[:])
		if first = err == nil && n == 1; !first {
			return err
		}
		for _, follows := range next {
			if err := t.insertToken(ctx, tx, follows); err != nil {
				return err
			}
		}
		_, err = t.s.exec(ctx, tx, `UPDATE consents SET last_used_at = ? WHERE tenant_id = ? AND id = ?`, micros(at), string(t.id), used.Consent)
		return err
	})
	if err != nil {
		return false, t.s.fail(ctx, err, "use a token")
	}
	return first, nil
}

func (t *Tenant) insertToken(ctx context.Context, tx *sql.Tx, n ConsentToken) error {
	scopes, err := json.Marshal(n.Scopes)
	if err != nil {
		return err
	}
	_, err = t.s.exec(ctx, tx, `INSERT INTO consent_tokens
		(tenant_id, hash, kind, consent_id, family, scopes, redirect, challenge, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(t.id), n.Hash[:], string(n.Kind), n.Consent, n.Family, string(scopes), n.Redirect, n.Challenge, micros(n.CreatedAt), micros(n.ExpiresAt))
	return err
}

// EndFamily forgets all that came of one code.
func (t *Tenant) EndFamily(ctx context.Context, family string) error {
	if _, err := t.s.do(ctx, `DELETE FROM consent_tokens WHERE tenant_id = ? AND family = ?`, string(t.id), family); err != nil {
		return t.s.fail(ctx, err, "end tokens")
	}
	return nil
}

// AccessTokens lists the hashes of the access tokens of all tenants that have
// not expired at now.
func (s *Store) AccessTokens(ctx context.Context, now time.Time) ([][32]byte, error) {
	list, err := all(ctx, s, func(row scanner) (hash [32]byte, err error) {
		var b []byte
		if err = row.Scan(&b); err == nil && copy(hash[:], b) != len(hash) {
			err = fmt.Errorf("the hash of a token has %d bytes", len(b))
		}
		return hash, err
	}, `SELECT hash FROM consent_tokens WHERE kind = 'access' AND expires_at > ?`, micros(now))
	if err != nil {
		return nil, s.fail(ctx, err, "list tokens")
	}
	return list, nil
}
