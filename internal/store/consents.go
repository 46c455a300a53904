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

// AddClient stores an OAuth client that registered itself. Of the clients that no user has
// consented to, it keeps the newest keep ones: registration is open to everybody, and must
// not fill the table.
func (t *Tenant) AddClient(ctx context.Context, c junctor.Client, keep int) error {
	redirects, err := json.Marshal(c.Redirects)
	if err == nil {
		err = t.s.runTx(ctx, func(tx *sql.Tx) error {
			_, err := t.s.exec(ctx, tx, `INSERT INTO clients (tenant_id, id, name, redirects, created_at) VALUES (?, ?, ?, ?, ?)`,
				string(t.id), c.ID, c.Name, string(redirects), toMicros(c.CreatedAt))
			if err != nil {
				return err
			}
			_, err = t.s.exec(ctx, tx, `DELETE FROM clients WHERE tenant_id = ? AND used_at IS NULL AND created_at <
				(SELECT created_at FROM clients WHERE tenant_id = ? AND used_at IS NULL ORDER BY created_at DESC LIMIT 1 OFFSET ?)`,
				string(t.id), string(t.id), keep-1)
			return err
		})
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "store a client")
	}
	return nil
}

// Client returns a registered client; not_found if there is none with that id.
func (t *Tenant) Client(ctx context.Context, id string) (junctor.Client, error) {
	c, err := readOne(ctx, t.s, scanClient, `SELECT id, name, redirects, created_at FROM clients WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.Client{}, notFound("no client with this id is registered")
	}
	if err != nil {
		return junctor.Client{}, t.s.wrapError(ctx, err, "read a client")
	}
	return c, nil
}

// TouchClient records that a user consented to a registered client. A missing client is
// not an error.
func (t *Tenant) TouchClient(ctx context.Context, id string, at time.Time) error {
	if _, err := t.s.execWrite(ctx, `UPDATE clients SET used_at = ? WHERE tenant_id = ? AND id = ?`, toMicros(at), string(t.id), id); err != nil {
		return t.s.wrapError(ctx, err, "note the use of a client")
	}
	return nil
}

// consentColumns are the columns that scanConsentTo reads, of a table with the alias c.
const consentColumns = `c.tenant_id, c.id, c.user_id, c.client_id, c.client_name, c.redirect, c.resource, c.scopes, c.created_at, c.updated_at, c.last_used_at`

// Consents lists the consents of one user, or with "" of all users, oldest first.
func (t *Tenant) Consents(ctx context.Context, user string) ([]junctor.Consent, error) {
	list, err := readAll(ctx, t.s, scanConsent, `SELECT `+consentColumns+` FROM consents c WHERE tenant_id = ? AND (? = '' OR user_id = ?)
		ORDER BY created_at, id`, string(t.id), user, user)
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list consents")
	}
	return list, nil
}

// ConsentOf returns the consent of a user to a client at an endpoint; not_found if there
// is none.
func (t *Tenant) ConsentOf(ctx context.Context, user, client, resource string) (junctor.Consent, error) {
	c, err := readOne(ctx, t.s, scanConsent, `SELECT `+consentColumns+` FROM consents c WHERE tenant_id = ? AND user_id = ? AND client_id = ? AND resource = ?`,
		string(t.id), user, client, resource)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.Consent{}, notFound("consent not found")
	}
	if err != nil {
		return junctor.Consent{}, t.s.wrapError(ctx, err, "read a consent")
	}
	return c, nil
}

// Allow stores a consent and a code for it, in one transaction. It replaces a consent of
// the same user, client and endpoint, whose id stays. It returns the id of the consent;
// not_found if the tenant has no such user.
func (t *Tenant) Allow(ctx context.Context, c junctor.Consent, code ConsentToken) (id string, err error) {
	scopes, err := json.Marshal(c.Scopes)
	if err != nil {
		return "", t.s.wrapError(ctx, err, "store a consent")
	}
	err = t.s.runTx(ctx, func(tx *sql.Tx) error {
		row := tx.QueryRowContext(ctx, t.s.dialect.Bind(`INSERT INTO consents
			(tenant_id, id, user_id, client_id, client_name, redirect, resource, scopes, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (tenant_id, user_id, client_id, resource) DO UPDATE SET client_name = excluded.client_name, redirect = excluded.redirect,
				scopes = excluded.scopes, updated_at = excluded.updated_at
			RETURNING id`),
			string(t.id), c.ID, c.User, c.Client, c.ClientName, c.Redirect, c.Resource, string(scopes), toMicros(c.CreatedAt), toMicros(c.UpdatedAt))
		if err := row.Scan(&id); err != nil {
			return err
		}
		code.Consent = id
		return t.insertToken(ctx, tx, code)
	})
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return "", userNotFound(c.User)
	}
	if err != nil {
		return "", t.s.wrapError(ctx, err, "store a consent")
	}
	return id, nil
}

// RevokeConsent deletes a consent and all its tokens; not_found if the tenant has none
// with that id.
func (t *Tenant) RevokeConsent(ctx context.Context, id string) error {
	n, err := t.s.execWrite(ctx, `DELETE FROM consents WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if err != nil {
		return t.s.wrapError(ctx, err, "revoke the consent %q", id)
	}
	if n == 0 {
		return notFound("consent not found; junctor consent ls lists the ids of the consents")
	}
	return nil
}

// scanClient reads the columns of a client.
func scanClient(row scanner) (junctor.Client, error) {
	var c junctor.Client
	var redirects string
	var created int64
	if err := row.Scan(&c.ID, &c.Name, &redirects, &created); err != nil {
		return c, err
	}
	c.CreatedAt = fromMicros(created)
	if err := json.Unmarshal([]byte(redirects), &c.Redirects); err != nil {
		return c, fmt.Errorf("decode the redirects of a client: %w", err)
	}
	return c, nil
}

// scanConsent reads the columns of consentColumns.
func scanConsent(row scanner) (junctor.Consent, error) {
	var c junctor.Consent
	return c, scanConsentTo(row, &c)
}

// scanConsentTo reads the columns of consentColumns into c, and the columns after them
// into behind.
func scanConsentTo(row scanner, c *junctor.Consent, behind ...any) error {
	var scopes string
	var created, updated int64
	var used sql.NullInt64
	err := row.Scan(append([]any{
		&c.Tenant, &c.ID, &c.User, &c.Client, &c.ClientName, &c.Redirect, &c.Resource, &scopes, &created, &updated, &used,
	}, behind...)...)
	if err != nil {
		return err
	}
	c.CreatedAt, c.UpdatedAt, c.LastUsedAt = fromMicros(created), fromMicros(updated), fromNullMicros(used)
	if err := json.Unmarshal([]byte(scopes), &c.Scopes); err != nil {
		return fmt.Errorf("decode the scopes of a consent: %w", err)
	}
	return nil
}
