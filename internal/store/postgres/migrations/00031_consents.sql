-- +goose Up
-- Tokens that are taken away are known in every process: each keeps in mind those that it has seen to be good.
CREATE TRIGGER tell AFTER DELETE ON consents FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
CREATE TRIGGER tell AFTER DELETE ON consent_tokens FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
