-- +goose Up

-- Where each chain was read to: enough of its newest blocks to see that it was
-- reorganised.
CREATE TABLE chain_blocks (
    tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
    chain     INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    hash      TEXT NOT NULL,
    parent    TEXT NOT NULL,
    mined_at  INTEGER NOT NULL, -- seconds
    PRIMARY KEY (tenant_id, chain, number)
) STRICT, WITHOUT ROWID;

-- What the registries of chains said.
CREATE TABLE chain_events (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    chain      INTEGER NOT NULL,
    block_hash TEXT NOT NULL,
    log_index  INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    agent      TEXT NOT NULL, -- eip155:CHAIN:REGISTRY/ID
    body       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('seen', 'counted', 'orphaned')),
    counted    INTEGER NOT NULL, -- how often it came to count
    retracted  INTEGER NOT NULL, -- how often it was taken back after that
    seen_at    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, chain, block_hash, log_index)
) STRICT, WITHOUT ROWID;

CREATE INDEX chain_events_open ON chain_events (tenant_id, chain, number, log_index) WHERE state <> 'orphaned';
CREATE INDEX chain_events_of ON chain_events (tenant_id, agent, number);

-- Why an agent's token is not sent for the time being; '' is no reason.
ALTER TABLE agent_endpoints ADD COLUMN suspended TEXT NOT NULL DEFAULT '';
