-- +goose Up

-- Where each chain was read to: enough of its newest blocks to see that it was
-- reorganised.
CREATE TABLE chain_blocks (
    tenant_id TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    chain     BIGINT NOT NULL,
    number    BIGINT NOT NULL,
    hash      TEXT COLLATE "C" NOT NULL,
    parent    TEXT COLLATE "C" NOT NULL,
    mined_at  BIGINT NOT NULL, -- seconds
    PRIMARY KEY (tenant_id, chain, number)
);

-- What the registries of chains said.
CREATE TABLE chain_events (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    chain      BIGINT NOT NULL,
    block_hash TEXT COLLATE "C" NOT NULL,
    log_index  BIGINT NOT NULL,
    number     BIGINT NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    agent      TEXT COLLATE "C" NOT NULL, -- eip155:CHAIN:REGISTRY/ID
    body       TEXT COLLATE "C" NOT NULL,
    state      TEXT COLLATE "C" NOT NULL CHECK (state IN ('seen', 'counted', 'orphaned')),
    counted    BIGINT NOT NULL, -- how often it came to count
    retracted  BIGINT NOT NULL, -- how often it was taken back after that
    seen_at    BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, chain, block_hash, log_index)
);

CREATE INDEX chain_events_open ON chain_events (tenant_id, chain, number, log_index) WHERE state <> 'orphaned';
CREATE INDEX chain_events_of ON chain_events (tenant_id, agent, number);

-- Why an agent's token is not sent for the time being; '' is no reason.
ALTER TABLE agent_endpoints ADD COLUMN suspended TEXT COLLATE "C" NOT NULL DEFAULT '';
