-- +goose Up

-- Programs that registered themselves. They are of no tenant until somebody
-- consents, and so of the default one.
CREATE TABLE clients (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    name       TEXT NOT NULL,
    redirects  TEXT NOT NULL, -- JSON array
    created_at INTEGER NOT NULL,
    used_at    INTEGER, -- when somebody last consented; those without are dropped after a day
    PRIMARY KEY (tenant_id, id)
) STRICT;

CREATE INDEX clients_unused ON clients (created_at) WHERE used_at IS NULL;

-- What people let programs do for them.
CREATE TABLE consents (
    tenant_id    TEXT NOT NULL,
    id           TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    client_id    TEXT NOT NULL,
    client_name  TEXT NOT NULL,
    redirect     TEXT NOT NULL,
    resource     TEXT NOT NULL,
    scopes       TEXT NOT NULL, -- JSON array
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, user_id, client_id, resource),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
) STRICT;

-- Codes and tokens that programs hold for a consent, by their SHA-256. Used ones
-- stay until they expire, so that a second use is known.
CREATE TABLE consent_tokens (
    tenant_id  TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    kind       TEXT NOT NULL CHECK (kind IN ('code', 'access', 'refresh')),
    consent_id TEXT NOT NULL,
    family     TEXT NOT NULL, -- all that came of one code
    scopes     TEXT NOT NULL, -- JSON array
    redirect   TEXT NOT NULL, -- of a code: where it was sent
    challenge  TEXT NOT NULL, -- of a code: what its verifier hashes to
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER,
    salt       BLOB, -- of a used one: what its followers were made with
    PRIMARY KEY (tenant_id, hash),
    FOREIGN KEY (tenant_id, consent_id) REFERENCES consents (tenant_id, id) ON DELETE CASCADE
) STRICT;

CREATE INDEX consent_tokens_consent ON consent_tokens (tenant_id, consent_id);
CREATE INDEX consent_tokens_family ON consent_tokens (tenant_id, family);
CREATE INDEX consent_tokens_expiry ON consent_tokens (expires_at);
