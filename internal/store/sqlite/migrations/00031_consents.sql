-- +goose Up
-- One process has the file: there is nobody to tell. PostgreSQL has triggers here.
SELECT 1;
