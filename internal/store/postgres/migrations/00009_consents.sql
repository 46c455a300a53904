-- +goose Up

-- Programs that registered themselves. They are of no tenant until somebody
-- consents, and so of the default one.
CREATE TABLE clients (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    redirects  TEXT COLLATE "C" NOT NULL, -- JSON array
    created_at BIGINT NOT NULL,
    used_at    BIGINT, -- when somebody last consented; those without are dropped after a day
    PRIMARY KEY (tenant_id, id)
);

CREATE INDEX clients_unused ON clients (created_at) WHERE used_at IS NULL;

-- What people let programs do for them.
CREATE TABLE consents (
    tenant_id    TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    user_id      TEXT COLLATE "C" NOT NULL,
    client_id    TEXT COLLATE "C" NOT NULL,
    client_name  TEXT COLLATE "C" NOT NULL,
    redirect     TEXT COLLATE "C" NOT NULL,
    resource     TEXT COLLATE "C" NOT NULL,
    scopes       TEXT COLLATE "C" NOT NULL, -- JSON array
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    last_used_at BIGINT,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, user_id, client_id, resource),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);

-- Codes and tokens that programs hold for a consent, by their SHA-256. Used ones
-- stay until they expire, so that a second use is known.
CREATE TABLE consent_tokens (
    tenant_id  TEXT COLLATE "C" NOT NULL,
    hash       BYTEA NOT NULL UNIQUE CHECK (length(hash) = 32),
    kind       TEXT COLLATE "C" NOT NULL CHECK (kind IN ('code', 'access', 'refresh')),
    consent_id TEXT COLLATE "C" NOT NULL,
    family     TEXT COLLATE "C" NOT NULL, -- all that came of one code
    scopes     TEXT COLLATE "C" NOT NULL, -- JSON array
    redirect   TEXT COLLATE "C" NOT NULL, -- of a code: where it was sent
    challenge  TEXT COLLATE "C" NOT NULL, -- of a code: what its verifier hashes to
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT,
    salt       BYTEA, -- of a used one: what its followers were made with
    PRIMARY KEY (tenant_id, hash),
    FOREIGN KEY (tenant_id, consent_id) REFERENCES consents (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX consent_tokens_consent ON consent_tokens (tenant_id, consent_id);
CREATE INDEX consent_tokens_family ON consent_tokens (tenant_id, family);
CREATE INDEX consent_tokens_expiry ON consent_tokens (expires_at);
