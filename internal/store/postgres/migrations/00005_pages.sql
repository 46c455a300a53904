-- +goose Up

-- The journal's copy, in pages: a line for each record, with its number, its
-- hash, and the text that the hash covers, which must come back byte for byte.
-- A page holds records of all tenants, and so belongs to none.
CREATE TABLE audit_pages (
    node      TEXT COLLATE "C" NOT NULL,
    last      BIGINT NOT NULL CHECK (last > 0),
    first     BIGINT NOT NULL CHECK (first > 0),
    held      BIGINT NOT NULL,
    records   TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT COLLATE "C" NOT NULL DEFAULT '' CHECK (tenant_id = ''),
    PRIMARY KEY (node, last)
);

INSERT INTO audit_pages (node, last, first, held, records)
SELECT node, MAX(seq), MIN(seq), COUNT(*), string_agg(seq || ' ' || hash || ' ' || line || chr(10), '' ORDER BY seq)
FROM audit_records GROUP BY node, seq / 256;

DROP TABLE audit_records;
