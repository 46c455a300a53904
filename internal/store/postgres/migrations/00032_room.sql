-- +goose Up

-- A job that ends has its entry written again beside the first one: half of a page
-- is left free for that, and pages need not be split.
ALTER INDEX jobs_pkey SET (fillfactor = 50);

-- What was leased together is ids, by chance for the most part: packing them gains
-- little, and takes more time than writing them.
ALTER TABLE job_claims ALTER COLUMN jobs SET STORAGE EXTERNAL;
