package store

import (
	"context"
	"database/sql"
	"errors"

	junctor "github.com/junctor-mcp/junctor"
)

// PutDocument stores the API document that a server is made of, in place of the former
// one; not_found if the tenant has no such server.
func (t *Tenant) PutDocument(ctx context.Context, server string, d junctor.APIDocument) error {
	_, err := t.s.execWrite(ctx, `INSERT INTO api_documents (tenant_id, server, document, etag, tools, fetched_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant_id, server) DO UPDATE SET document = excluded.document, etag = excluded.etag, tools = excluded.tools, fetched_at = excluded.fetched_at`,
		string(t.id), server, nonNilBytes(d.Text), d.ETag, nonNilBytes(d.Tools), toMicros(d.FetchedAt))
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return notFound("unknown server %q", server)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "store the document of the server %q", server)
	}
	return nil
}

// Document returns the API document that a server is made of; not_found if it has none.
func (t *Tenant) Document(ctx context.Context, server string) (junctor.APIDocument, error) {
	d, err := readOne(ctx, t.s, func(row scanner) (junctor.APIDocument, error) {
		var d junctor.APIDocument
		var at int64
		err := row.Scan(&d.Text, &d.ETag, &d.Tools, &at)
		d.FetchedAt = fromMicros(at)
		return d, err
	}, `SELECT document, etag, tools, fetched_at FROM api_documents WHERE tenant_id = ? AND server = ?`, string(t.id), server)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.APIDocument{}, notFound("the server %q was not generated from a document", server)
	}
	if err != nil {
		return junctor.APIDocument{}, t.s.wrapError(ctx, err, "read the document of the server %q", server)
	}
	return d, nil
}
