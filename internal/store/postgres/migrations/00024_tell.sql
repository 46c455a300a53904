-- +goose Up
-- Processes that share a database tell each other which tables changed, once it is committed: what they hold in
-- memory follows. Counts and times of use are nobody's news.

-- +goose StatementBegin
CREATE FUNCTION junctor_tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('junctor_changes', TG_TABLE_NAME);
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER tell AFTER INSERT OR DELETE ON tenants FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE OF name, hash, former_hash, former_until, scopes, expires_at, revoked_at, user_id, agent
    ON keys FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON users FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE OF expires_at, revoked_at ON logins FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON agents FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON agent_grants FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON tool_tags FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON settings FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON servers FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON api_documents FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON ring_keys FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
