-- +goose Up
-- Whether the type of an event is of a header that no signature covers.
ALTER TABLE events ADD COLUMN type_unsigned BIGINT NOT NULL DEFAULT 0;
