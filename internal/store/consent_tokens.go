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

// TokenKind is the kind of a code or token that an OAuth client holds.
type TokenKind string

// The kinds of tokens.
const (
	TokenCode    TokenKind = "code"    // is exchanged for tokens, once
	TokenAccess  TokenKind = "access"  // authenticates at an MCP endpoint
	TokenRefresh TokenKind = "refresh" // is exchanged for new tokens, once
)

// ConsentToken is the stored part of a code or token. The token itself is not stored.
type ConsentToken struct {
	Hash      [32]byte
	Kind      TokenKind
	Consent   string // by id
	Family    string // the same for all tokens that descend from one code
	Scopes    []junctor.Scope
	Redirect  string // of a code: where it was sent
	Challenge string // of a code: what its verifier hashes to
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    time.Time
	Salt      []byte // of a used one: the salt from which the tokens that follow it were derived
}

// ConsentToken returns a token of any tenant by its hash, with the consent that it belongs
// to; not_found if there is none. The caller judges expiry and use.
func (s *Store) ConsentToken(ctx context.Context, hash [32]byte) (ConsentToken, junctor.Consent, error) {
	type both struct {
		token   ConsentToken
		consent junctor.Consent
	}
	b, err := readOne(ctx, s, func(row scanner) (b both, err error) {
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
		t.Consent, t.CreatedAt, t.ExpiresAt, t.UsedAt = b.consent.ID, fromMicros(created), fromMicros(expires), fromNullMicros(used)
		return b, json.Unmarshal([]byte(scopes), &t.Scopes)
	}, `SELECT `+consentColumns+`, t.hash, t.kind, t.family, t.scopes, t.redirect, t.challenge, t.created_at, t.expires_at, t.used_at, t.salt
		FROM consent_tokens t JOIN consents c ON c.tenant_id = t.tenant_id AND c.id = t.consent_id WHERE t.hash = ?`, hash[:])
	if errors.Is(err, sql.ErrNoRows) {
		return ConsentToken{}, junctor.Consent{}, notFound("token not found")
	}
	if err != nil {
		return ConsentToken{}, junctor.Consent{}, s.wrapError(ctx, err, "read a token")
	}
	return b.token, b.consent, nil
}

// UseToken uses up a code or token and stores the tokens that follow it, in one
// transaction. Of any number of concurrent callers, on any number of replicas, exactly one
// is the first. For the others nothing changes.
func (t *Tenant) UseToken(ctx context.Context, used ConsentToken, salt []byte, at time.Time, next ...ConsentToken) (first bool, err error) {
	err = t.s.runTx(ctx, func(tx *sql.Tx) error {
		n, err := t.s.exec(ctx, tx, `UPDATE consent_tokens SET used_at = ?, salt = ? WHERE tenant_id = ? AND hash = ? AND used_at IS NULL`,
			toMicros(at), salt, string(t.id), used.Hash[:])
		if first = err == nil && n == 1; !first {
			return err
		}
		for _, follows := range next {
			if err := t.insertToken(ctx, tx, follows); err != nil {
				return err
			}
		}
		_, err = t.s.exec(ctx, tx, `UPDATE consents SET last_used_at = ? WHERE tenant_id = ? AND id = ?`, toMicros(at), string(t.id), used.Consent)
		return err
	})
	if err != nil {
		return false, t.s.wrapError(ctx, err, "use a token")
	}
	return first, nil
}

// insertToken stores a new token.
func (t *Tenant) insertToken(ctx context.Context, tx *sql.Tx, n ConsentToken) error {
	scopes, err := json.Marshal(n.Scopes)
	if err != nil {
		return err
	}
	_, err = t.s.exec(ctx, tx, `INSERT INTO consent_tokens
		(tenant_id, hash, kind, consent_id, family, scopes, redirect, challenge, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(t.id), n.Hash[:], string(n.Kind), n.Consent, n.Family, string(scopes), n.Redirect, n.Challenge, toMicros(n.CreatedAt), toMicros(n.ExpiresAt))
	return err
}

// EndFamily deletes all tokens that descend from one code. It is the answer to a token
// that is used twice.
func (t *Tenant) EndFamily(ctx context.Context, family string) error {
	if _, err := t.s.execWrite(ctx, `DELETE FROM consent_tokens WHERE tenant_id = ? AND family = ?`, string(t.id), family); err != nil {
		return t.s.wrapError(ctx, err, "end tokens")
	}
	return nil
}

// AccessTokens lists the hashes of the access tokens of all tenants that have not expired
// at now.
func (s *Store) AccessTokens(ctx context.Context, now time.Time) ([][32]byte, error) {
	list, err := readAll(ctx, s, func(row scanner) (hash [32]byte, err error) {
		var b []byte
		if err = row.Scan(&b); err == nil && copy(hash[:], b) != len(hash) {
			err = fmt.Errorf("the hash of a token has %d bytes", len(b))
		}
		return hash, err
	}, `SELECT hash FROM consent_tokens WHERE kind = 'access' AND expires_at > ?`, toMicros(now))
	if err != nil {
		return nil, s.wrapError(ctx, err, "list tokens")
	}
	return list, nil
}
