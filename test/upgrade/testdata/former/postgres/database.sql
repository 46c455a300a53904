SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
CREATE FUNCTION public.junctor_tell() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('junctor_changes', TG_TABLE_NAME);
    RETURN NULL;
END
$$;
CREATE TABLE public.agent_endpoints (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    origin text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL COLLATE pg_catalog."C",
    transport text NOT NULL COLLATE pg_catalog."C",
    header text NOT NULL COLLATE pg_catalog."C",
    signed bigint NOT NULL,
    trusted bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    suspended text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.agent_grants (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    server text NOT NULL COLLATE pg_catalog."C",
    item text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT agent_grants_item_check CHECK ((item <> ''::text)),
    CONSTRAINT agent_grants_kind_check CHECK ((kind = ANY (ARRAY['tool'::text, 'resource'::text, 'prompt'::text])))
);
CREATE TABLE public.agent_task_pushes (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    config text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.agent_tasks (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    context_id text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    running bigint NOT NULL,
    version bigint NOT NULL,
    body text NOT NULL COLLATE pg_catalog."C",
    story text NOT NULL COLLATE pg_catalog."C",
    node text NOT NULL COLLATE pg_catalog."C",
    stop bigint NOT NULL,
    begun_at bigint NOT NULL,
    status_at bigint NOT NULL,
    beat_at bigint NOT NULL
);
CREATE TABLE public.agents (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    tier text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    disabled bigint NOT NULL,
    config text DEFAULT '{}'::text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT agents_disabled_check CHECK ((disabled = ANY (ARRAY[(0)::bigint, (1)::bigint])))
);
CREATE TABLE public.api_documents (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    server text NOT NULL COLLATE pg_catalog."C",
    document bytea NOT NULL,
    etag text NOT NULL COLLATE pg_catalog."C",
    tools bytea NOT NULL,
    fetched_at bigint NOT NULL
);
CREATE TABLE public.app_approvals (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    server text NOT NULL COLLATE pg_catalog."C",
    resource text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL COLLATE pg_catalog."C",
    approved_by text NOT NULL COLLATE pg_catalog."C",
    approved_at bigint NOT NULL
);
CREATE TABLE public.audit_heads (
    node text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    head text NOT NULL COLLATE pg_catalog."C",
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT audit_heads_seq_check CHECK ((seq > 0)),
    CONSTRAINT audit_heads_tenant_id_check CHECK ((tenant_id = ''::text))
);
CREATE TABLE public.audit_pages (
    node text NOT NULL COLLATE pg_catalog."C",
    last bigint NOT NULL,
    first bigint NOT NULL,
    held bigint NOT NULL,
    records text NOT NULL COLLATE pg_catalog."C",
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT audit_pages_first_check CHECK ((first > 0)),
    CONSTRAINT audit_pages_last_check CHECK ((last > 0)),
    CONSTRAINT audit_pages_tenant_id_check CHECK ((tenant_id = ''::text))
);
CREATE TABLE public.chain_blocks (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    chain bigint NOT NULL,
    number bigint NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    parent text NOT NULL COLLATE pg_catalog."C",
    mined_at bigint NOT NULL
);
CREATE TABLE public.chain_events (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    chain bigint NOT NULL,
    block_hash text NOT NULL COLLATE pg_catalog."C",
    log_index bigint NOT NULL,
    number bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    counted bigint NOT NULL,
    retracted bigint NOT NULL,
    seen_at bigint NOT NULL,
    CONSTRAINT chain_events_state_check CHECK ((state = ANY (ARRAY['seen'::text, 'counted'::text, 'orphaned'::text])))
);
CREATE TABLE public.clients (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    redirects text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    used_at bigint
);
CREATE TABLE public.consent_tokens (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    hash bytea NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    consent_id text NOT NULL COLLATE pg_catalog."C",
    family text NOT NULL COLLATE pg_catalog."C",
    scopes text NOT NULL COLLATE pg_catalog."C",
    redirect text NOT NULL COLLATE pg_catalog."C",
    challenge text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    used_at bigint,
    salt bytea,
    CONSTRAINT consent_tokens_hash_check CHECK ((length(hash) = 32)),
    CONSTRAINT consent_tokens_kind_check CHECK ((kind = ANY (ARRAY['code'::text, 'access'::text, 'refresh'::text])))
);
CREATE TABLE public.consents (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    client_id text NOT NULL COLLATE pg_catalog."C",
    client_name text NOT NULL COLLATE pg_catalog."C",
    redirect text NOT NULL COLLATE pg_catalog."C",
    resource text NOT NULL COLLATE pg_catalog."C",
    scopes text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    last_used_at bigint
);
CREATE TABLE public.day_counts (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    party text NOT NULL COLLATE pg_catalog."C",
    day bigint NOT NULL,
    calls bigint NOT NULL
);
CREATE TABLE public.event_waits (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    trigger_name text NOT NULL COLLATE pg_catalog."C",
    line text NOT NULL COLLATE pg_catalog."C",
    event_id text NOT NULL COLLATE pg_catalog."C",
    since bigint NOT NULL
);
CREATE TABLE public.events (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    dedupe_key text NOT NULL COLLATE pg_catalog."C",
    data bytea NOT NULL,
    depth bigint NOT NULL,
    raised bigint NOT NULL,
    faults text NOT NULL COLLATE pg_catalog."C",
    received_at bigint NOT NULL,
    type_unsigned bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.history_calls (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    door text NOT NULL COLLATE pg_catalog."C",
    server text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    issuer text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    code text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL COLLATE pg_catalog."C",
    duration bigint NOT NULL,
    bytes_in bigint NOT NULL,
    bytes_out bigint NOT NULL,
    params text NOT NULL COLLATE pg_catalog."C",
    result text NOT NULL COLLATE pg_catalog."C",
    user_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    agent text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    admitted bigint DEFAULT 0 NOT NULL,
    connected bigint DEFAULT 0 NOT NULL,
    answered bigint DEFAULT 0 NOT NULL,
    attempts text DEFAULT ''::text NOT NULL,
    view_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    room_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.history_usage (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    day bigint NOT NULL,
    server text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    issuer text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    calls bigint NOT NULL,
    errors bigint NOT NULL,
    refused bigint NOT NULL,
    duration bigint NOT NULL,
    bytes_in bigint NOT NULL,
    bytes_out bigint NOT NULL,
    d00 bigint NOT NULL,
    d01 bigint NOT NULL,
    d02 bigint NOT NULL,
    d03 bigint NOT NULL,
    d04 bigint NOT NULL,
    d05 bigint NOT NULL,
    d06 bigint NOT NULL,
    d07 bigint NOT NULL,
    d08 bigint NOT NULL,
    d09 bigint NOT NULL,
    d10 bigint NOT NULL,
    d11 bigint NOT NULL,
    d12 bigint NOT NULL,
    d13 bigint NOT NULL,
    d14 bigint NOT NULL,
    d15 bigint NOT NULL,
    d16 bigint NOT NULL,
    d17 bigint NOT NULL,
    door text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    agent text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.history_version (
    id integer NOT NULL,
    version_id bigint NOT NULL,
    is_applied boolean NOT NULL,
    tstamp timestamp without time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.history_version ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.history_version_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.homes (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    node text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.instance (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
CREATE TABLE public.job_claims (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    until bigint NOT NULL,
    jobs text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE ONLY public.job_claims ALTER COLUMN jobs SET STORAGE EXTERNAL;
CREATE TABLE public.job_lanes (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    lane text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    until bigint NOT NULL,
    opened bigint NOT NULL,
    why text NOT NULL COLLATE pg_catalog."C",
    changed_at bigint NOT NULL,
    CONSTRAINT job_lanes_state_check CHECK ((state = ANY (ARRAY['closed'::text, 'open'::text, 'half'::text, 'stopped'::text])))
);
CREATE TABLE public.job_lines (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    order_key text NOT NULL COLLATE pg_catalog."C",
    last bigint NOT NULL
);
CREATE TABLE public.jobs (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    lane text NOT NULL COLLATE pg_catalog."C",
    order_key text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    blocks bigint NOT NULL,
    dedupe_key text COLLATE pg_catalog."C",
    event text NOT NULL COLLATE pg_catalog."C",
    trigger_id text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    tool text NOT NULL COLLATE pg_catalog."C",
    payload text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    held text NOT NULL COLLATE pg_catalog."C",
    run_at bigint NOT NULL,
    lease bigint NOT NULL,
    lease_until bigint NOT NULL,
    owner text NOT NULL COLLATE pg_catalog."C",
    lost bigint NOT NULL,
    attempt bigint NOT NULL,
    base bigint NOT NULL,
    max_attempts bigint NOT NULL,
    skip_after bigint NOT NULL,
    error text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    ended_at bigint,
    tried text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    phase bigint GENERATED ALWAYS AS (
CASE state
    WHEN 'waiting'::text THEN 0
    WHEN 'ready'::text THEN 1
    WHEN 'leased'::text THEN 1
    WHEN 'held'::text THEN 2
    WHEN 'dead'::text THEN 3
    ELSE 4
END) STORED,
    CONSTRAINT jobs_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'ready'::text, 'leased'::text, 'held'::text, 'done'::text, 'dead'::text, 'dropped'::text])))
)
WITH (fillfactor='50');
CREATE TABLE public.keys (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    prefix text NOT NULL COLLATE pg_catalog."C",
    hash bytea NOT NULL,
    scopes text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint,
    user_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    agent text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    former_hash bytea,
    former_until bigint,
    CONSTRAINT keys_former_hash_check CHECK ((length(former_hash) = 32)),
    CONSTRAINT keys_hash_check CHECK ((length(hash) = 32))
);
CREATE TABLE public.leases (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    node text NOT NULL COLLATE pg_catalog."C",
    until bigint NOT NULL,
    fence bigint NOT NULL
);
CREATE TABLE public.login_traces (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    server text NOT NULL COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C",
    ok bigint NOT NULL,
    body text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT login_traces_ok_check CHECK ((ok = ANY (ARRAY[(0)::bigint, (1)::bigint])))
);
CREATE TABLE public.logins (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    hash bytea NOT NULL,
    how text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    revoked_at bigint,
    last_used_at bigint,
    CONSTRAINT logins_hash_check CHECK ((length(hash) = 32)),
    CONSTRAINT logins_kind_check CHECK ((kind = ANY (ARRAY['session'::text, 'link'::text])))
);
CREATE TABLE public.models (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    base_url text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    trusted bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.nodes (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL
);
CREATE TABLE public.published_agents (
    name text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    since bigint NOT NULL
);
CREATE TABLE public.removed_servers (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    removed_at bigint NOT NULL,
    owner text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.ring_keys (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    wrapped bytea NOT NULL
);
CREATE TABLE public.schedules (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    config text NOT NULL COLLATE pg_catalog."C",
    disabled bigint NOT NULL,
    declared text NOT NULL COLLATE pg_catalog."C",
    next_at bigint NOT NULL,
    last_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.schema_version (
    id integer NOT NULL,
    version_id bigint NOT NULL,
    is_applied boolean NOT NULL,
    tstamp timestamp without time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.schema_version ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.schema_version_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.secrets (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    wrapped bytea NOT NULL,
    ciphertext bytea NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT secrets_name_check CHECK ((name <> ''::text))
);
CREATE TABLE public.seen_servers (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    offer bytea NOT NULL,
    isolated bigint NOT NULL,
    seen_at bigint NOT NULL,
    isolated_why text DEFAULT ''::text NOT NULL,
    CONSTRAINT seen_servers_isolated_check CHECK ((isolated = ANY (ARRAY[(0)::bigint, (1)::bigint])))
);
CREATE TABLE public.servers (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    mode text NOT NULL COLLATE pg_catalog."C",
    title text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    last_error text NOT NULL COLLATE pg_catalog."C",
    config text DEFAULT '{}'::text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.sessions (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    issuer text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    log_level text NOT NULL COLLATE pg_catalog."C",
    subscriptions text NOT NULL COLLATE pg_catalog."C",
    capabilities bytea,
    expires_at bigint NOT NULL,
    revoked bigint NOT NULL,
    CONSTRAINT sessions_revoked_check CHECK ((revoked = ANY (ARRAY[(0)::bigint, (1)::bigint])))
);
CREATE TABLE public.settings (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C",
    updated_at bigint NOT NULL
);
CREATE TABLE public.sources (
    id text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    config text NOT NULL COLLATE pg_catalog."C",
    disabled bigint NOT NULL,
    declared text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.tasks (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    issuer text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    server text NOT NULL COLLATE pg_catalog."C",
    tool text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    own text NOT NULL COLLATE pg_catalog."C",
    state bytea NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.tenants (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    CONSTRAINT tenants_tenant_id_check CHECK ((tenant_id <> ''::text))
);
CREATE TABLE public.tool_changes (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    server text NOT NULL COLLATE pg_catalog."C",
    tool text NOT NULL COLLATE pg_catalog."C",
    before_digest text NOT NULL COLLATE pg_catalog."C",
    after_digest text NOT NULL COLLATE pg_catalog."C",
    before_json bytea,
    after_json bytea,
    seen_at bigint NOT NULL
);
CREATE TABLE public.tool_suggestions (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    server text NOT NULL COLLATE pg_catalog."C",
    tool text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    face text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    made_at bigint NOT NULL
);
CREATE TABLE public.tool_tags (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    server text NOT NULL COLLATE pg_catalog."C",
    tool text NOT NULL COLLATE pg_catalog."C",
    roles text NOT NULL COLLATE pg_catalog."C",
    category text NOT NULL COLLATE pg_catalog."C",
    tagged_by text NOT NULL COLLATE pg_catalog."C",
    tagged_at bigint NOT NULL
);
CREATE TABLE public.triggers (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    config text NOT NULL COLLATE pg_catalog."C",
    disabled bigint NOT NULL,
    declared text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.used_states (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    expires_at bigint NOT NULL
);
CREATE TABLE public.user_links (
    issuer text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);
CREATE TABLE public.users (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    sources text NOT NULL COLLATE pg_catalog."C",
    tier text NOT NULL COLLATE pg_catalog."C",
    password text NOT NULL COLLATE pg_catalog."C",
    disabled bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT users_disabled_check CHECK ((disabled = ANY (ARRAY[(0)::bigint, (1)::bigint]))),
    CONSTRAINT users_name_check CHECK ((name <> ''::text))
);
CREATE TABLE public.workspace_approvals (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    workspace_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    run_id text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    call text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    remember bigint NOT NULL,
    decided_by text NOT NULL COLLATE pg_catalog."C",
    asked_at bigint NOT NULL,
    decided_at bigint,
    reason text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT workspace_approvals_state_check CHECK ((state = ANY (ARRAY['open'::text, 'allowed'::text, 'denied'::text])))
);
CREATE TABLE public.workspace_members (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    workspace_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    member text NOT NULL COLLATE pg_catalog."C",
    place bigint NOT NULL,
    CONSTRAINT workspace_members_kind_check CHECK ((kind = ANY (ARRAY['agent'::text, 'user'::text])))
);
CREATE TABLE public.workspace_messages (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    workspace_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    run_id text NOT NULL COLLATE pg_catalog."C",
    author_kind text NOT NULL COLLATE pg_catalog."C",
    author text NOT NULL COLLATE pg_catalog."C",
    author_id text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C",
    search text NOT NULL COLLATE pg_catalog."C",
    said_at bigint NOT NULL
);
CREATE TABLE public.workspace_runs (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    workspace_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    by_party text NOT NULL COLLATE pg_catalog."C",
    node text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL COLLATE pg_catalog."C",
    plan text NOT NULL COLLATE pg_catalog."C",
    stop bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    begun_at bigint NOT NULL,
    beat_at bigint NOT NULL,
    ended_at bigint,
    CONSTRAINT workspace_runs_state_check CHECK ((state = ANY (ARRAY['running'::text, 'waiting'::text, 'done'::text, 'failed'::text, 'cancelled'::text, 'lost'::text])))
);
CREATE TABLE public.workspaces (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    config text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
INSERT INTO public.agent_endpoints VALUES ('default', '41', 'http://127.0.0.1:18792', 'http://127.0.0.1:18792/mcp', 'http', 'Authorization', 1, 0, 0, 1795035162559042, '');
INSERT INTO public.agent_grants VALUES ('default', 'qa', 'tool', 'demo', '*');
INSERT INTO public.agent_grants VALUES ('default', 'qa', 'tool', 'notes', 'write');
INSERT INTO public.agent_tasks VALUES ('default', '01a1f06f-0e00-7420-b93e-d05fdd8c4426', 'qa', 'key:yxk7wkpazk3u5xul', '01a1f06f-0e00-7427-bfb0-1a29bb92c5e0', 'TASK_STATE_COMPLETED', 0, 2, '{"id":"01a1f06f-0e00-7420-b93e-d05fdd8c4426","artifacts":[{"artifactId":"msg_ROY2VCA5J2UTZXZL","parts":[{"text":"You said: by a2a"}]}],"contextId":"01a1f06f-0e00-7427-bfb0-1a29bb92c5e0","history":[{"messageId":"m1","contextId":"01a1f06f-0e00-7427-bfb0-1a29bb92c5e0","parts":[{"text":"repeat by a2a"}],"role":"ROLE_USER","taskId":"01a1f06f-0e00-7420-b93e-d05fdd8c4426"}],"status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-11-18T20:52:52.35481Z"}}', '[{"role":"user","text":"repeat by a2a"},{"role":"assistant","calls":[{"id":"call_FJHYKY7X4HBJNWUO","name":"demo__echo","arguments":{"text":"by a2a"}}]},{"role":"tool","results":[{"call_id":"call_FJHYKY7X4HBJNWUO","content":{"content":[{"type":"text","text":"by a2a"}]},"text":"by a2a","record":"18e93efa8f861232d648c4dca651f4e0","server":"demo","tool":"echo"}]},{"role":"assistant","text":"You said: by a2a"}]', '18e93ef304310d769d32ee898d811932', 0, 1795035172352267, 1795035172354810, 1795035172354810);
INSERT INTO public.agents VALUES ('default', 'qa', 'General', '', 'key:yxk7wkpazk3u5xul', 0, '{"title":"The tester","limits":{"per_day":1000},"brain":{"rules":"intents:\n  - match: ''repeat (?P\u003cwords\u003e.+)''\n    calls:\n      - tool: demo__echo\n        arguments: {text: \"{{words}}\"}\n        as: said\n    say: \"You said: {{said}}\"\nfallback: I can repeat.\n"},"published":true}', 1795035157600779, 1795035157600779);
INSERT INTO public.api_documents VALUES ('default', 'pets', '\x7b226f70656e617069223a22332e312e30222c22696e666f223a7b227469746c65223a2250657473222c2276657273696f6e223a2231227d2c227061746873223a7b222f70657473223a7b22676574223a7b226f7065726174696f6e4964223a226c69737450657473222c22726573706f6e736573223a7b22323030223a7b226465736372697074696f6e223a2270657473227d7d7d7d7d7d', '', '\x5b7b226b6579223a22474554202f70657473222c226e616d65223a226c6973745f70657473222c227469746c65223a224c6973742070657473222c226465736372697074696f6e223a22474554202f70657473222c22696e707574223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b7d2c2274797065223a226f626a656374227d2c22616e6e6f746174696f6e73223a7b22726561644f6e6c7948696e74223a747275652c226964656d706f74656e7448696e74223a747275652c226f70656e576f726c6448696e74223a747275657d2c226964223a226c69737450657473222c22776f726473223a5b2270657473225d2c226174223a7b2266696c65223a22646f63756d656e74222c226c696e65223a312c22636f6c756d6e223a37367d2c22706c616e223a7b226d6574686f64223a22474554222c2270617468223a222f70657473227d7d5d', 1795035154209003);
INSERT INTO public.audit_heads VALUES ('18e93ef304310d769d32ee898d811932', 18, '{"node":"18e93ef304310d769d32ee898d811932","seq":18,"hash":"c998d19b1cea7dbdfc21185753b392cb42b413462406d274c85e2f484f66fe53","time":"2026-11-18T20:52:55.107121547Z","shipped":18,"signature":"FbiPzQ5K3BpsbKkyzjDWB3LpV9ZSizUk3jT1TeSQh2LnsCGtRzeCCjePwXqB+ixL0xFgucbj2HS2AhTc2VsoAA=="}', '');
INSERT INTO public.audit_pages VALUES ('18e93ef304310d769d32ee898d811932', 1, 1, 1, '1 dbd175e703a555c9b4fe354a4ab1077ee07ed11f5a88d433d4ff23799ec7b224 {"seq":1,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:20.049079Z","phase":"segment","prev":"0000000000000000000000000000000000000000000000000000000000000000"}
', '');
INSERT INTO public.audit_pages VALUES ('18e93ef304310d769d32ee898d811932', 3, 2, 2, '2 49a08e7d85f0be6867c0e75962906a5b810f1ff40729eb920e5aee5d9a211493 {"seq":2,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:45.854822Z","phase":"start","call":"18e93ef90c1c1fcfa15d2f74283634a3","tenant":"default","kind":"tool","door":"delivery","server":"demo","name":"echo","issuer":"trigger","subject":"echoed","status":"running","bytes_in":238,"args_b3":"cd76dec7d0b8b3883fd458ae2f0bf1966fa8ccaa5c860e880ec7ad29016912a3"}
3 543fd33b85ac7411ee814706807fbfae178863e561953912003b6db9f8d98bc0 {"seq":3,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:45.855006Z","phase":"end","call":"18e93ef90c1c1fcfa15d2f74283634a3","tenant":"default","kind":"tool","door":"delivery","server":"demo","name":"echo","issuer":"trigger","subject":"echoed","status":"success","duration_us":8194,"bytes_in":238,"bytes_out":44,"args_b3":"cd76dec7d0b8b3883fd458ae2f0bf1966fa8ccaa5c860e880ec7ad29016912a3","result_b3":"8b86443e464456560c5f0407af98509a7710075d362690f22dcf493ffe0b1af3"}
', '');
INSERT INTO public.audit_pages VALUES ('18e93ef304310d769d32ee898d811932', 5, 4, 2, '4 84ab344f7d036e71d53b446fbeac2f1a8f23362306e14e81be32551bd9ba3bca {"seq":4,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:46.240042Z","phase":"start","call":"18e93ef923119f69a7e4ff013ababbb6","tenant":"default","kind":"tool","door":"plain","server":"demo","name":"echo","issuer":"user","subject":"2mnhavo6upcxlg3x","status":"running","bytes_in":71,"args_b3":"5c692241e472b94332ba9a4fcc20a6b083716ffa826aa93a59b62f4f826650fe"}
5 efe99a6c37c3487258206bb3d94db1113e1eb65ef6c9a2feac38322399643c9a {"seq":5,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:46.240190Z","phase":"end","call":"18e93ef923119f69a7e4ff013ababbb6","tenant":"default","kind":"tool","door":"plain","server":"demo","name":"echo","issuer":"user","subject":"2mnhavo6upcxlg3x","status":"success","duration_us":221,"bytes_in":71,"bytes_out":65,"args_b3":"5c692241e472b94332ba9a4fcc20a6b083716ffa826aa93a59b62f4f826650fe","result_b3":"9f1168fbddbb596f24b05d458d28f80c48bee94f1ebe821050afea7ee5457329"}
', '');
INSERT INTO public.audit_pages VALUES ('18e93ef304310d769d32ee898d811932', 7, 6, 2, '6 dfeabcb727541be3b248007ca964b78ef18ce266133aa41a2f2274a1e8467817 {"seq":6,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:46.703480Z","phase":"start","call":"18e93ef93eb1b4c876bf227d9550153d","tenant":"default","kind":"tool","door":"plain","server":"notes","name":"write","issuer":"key","subject":"imp47lta64onkbqf","status":"running","bytes_in":61,"args_b3":"dd9b3b06f97b1109b1f09a560135537353a2a4721ef4b1351e713a9a2556741e"}
7 c5097aa27466940b7c26462a60355a46bf0098eb0ab332a002f0202b2ec5d280 {"seq":7,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:46.727399Z","phase":"end","call":"18e93ef93eb1b4c876bf227d9550153d","tenant":"default","kind":"tool","door":"plain","server":"notes","name":"write","issuer":"key","subject":"imp47lta64onkbqf","status":"success","duration_us":24218,"bytes_in":61,"bytes_out":64,"args_b3":"dd9b3b06f97b1109b1f09a560135537353a2a4721ef4b1351e713a9a2556741e","result_b3":"86e0cd0acd9ddb787d2473fe8e078ed45e6ab63c66b90accfa9a8c8daa86ebc3"}
', '');
INSERT INTO public.audit_pages VALUES ('18e93ef304310d769d32ee898d811932', 10, 8, 3, '8 77e2d3a98626200c4120df87f44d36095213dabc0dec88fafa51b90cc60a20d0 {"seq":8,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:46.944331Z","phase":"start","call":"18e93ef94d0cd4bd7633258b42792447","tenant":"default","kind":"tool","door":"plain","server":"demo","name":"add","version":"2","issuer":"agent","subject":"qa","status":"running","bytes_in":46,"args_b3":"8e80439b77ac62d4194499edd46684c479da3aa1ac80dd5511468efae049166e"}
9 f9ec3557d9838ba3a3aa76b021dba4fd7427fa93c288b5ab1b64cb59371d9604 {"seq":9,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:46.944457Z","phase":"end","call":"18e93ef94d0cd4bd7633258b42792447","tenant":"default","kind":"tool","door":"plain","server":"demo","name":"add","version":"2","issuer":"agent","subject":"qa","status":"success","duration_us":564,"bytes_in":46,"bytes_out":108,"args_b3":"8e80439b77ac62d4194499edd46684c479da3aa1ac80dd5511468efae049166e","result_b3":"06c1a305f045c1224bd8ede1f0585589693f1c5521d10d8e806726817cdf2de9"}
10 689009cf81beec8c6659325c7644bc43f6f81682a68a4f9feb8df02ca89b1aec {"seq":10,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:47.216726Z","phase":"start","call":"18e93ef95d49458bdbed8787c74c563f","tenant":"default","kind":"tool","door":"plain","server":"shelf","name":"look","issuer":"key","subject":"imp47lta64onkbqf","status":"running","bytes_in":37,"args_b3":"6e46dd10defc9b56c29a6ec56b508c21f54c08192194e4df25bf36f0c9c3c279"}
', '');
INSERT INTO public.audit_pages VALUES ('18e93ef304310d769d32ee898d811932', 11, 11, 1, '11 8fef8bc937a1cb89368f7cd40d26ab8e240d22b430a75637cabfeb84467e0efe {"seq":11,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:48.483971Z","phase":"end","call":"18e93ef95d49458bdbed8787c74c563f","tenant":"default","kind":"tool","door":"plain","server":"shelf","name":"look","issuer":"key","subject":"imp47lta64onkbqf","status":"success","duration_us":1267456,"bytes_in":37,"bytes_out":48,"args_b3":"6e46dd10defc9b56c29a6ec56b508c21f54c08192194e4df25bf36f0c9c3c279","result_b3":"dd00cd04a4e02273b7cb7df246ab4a3fedd2c8c16abf1352f9835edc0d36dba2"}
', '');
INSERT INTO public.audit_pages VALUES ('18e93ef304310d769d32ee898d811932', 12, 12, 1, '12 241dd83a50eccaf114c4be85e1f47a066e0e1a3ee99c8007284f7af64b442764 {"seq":12,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:48.556816Z","phase":"refuse","call":"18e93ef9ad296b941f1e18d54e994299","tenant":"default","kind":"tool","door":"plain","name":"demo__nothing","issuer":"key","subject":"imp47lta64onkbqf","status":"invalid","code":"not_found","reason":"unknown tool \"demo__nothing\"; tools/list shows what there is","bytes_in":39}
', '');
INSERT INTO public.audit_pages VALUES ('18e93ef304310d769d32ee898d811932', 14, 13, 2, '13 fc202d22210758b68be0a4912e126a5b0d130f7a2fc0a4290ab81ba7b0dd1302 {"seq":13,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:50.155208Z","phase":"start","call":"18e93efa0c6eed3d3fb265895a36fbbe","tenant":"default","kind":"tool","door":"turn","server":"demo","name":"echo","issuer":"agent","subject":"qa","room":"rgfegchfnuop","status":"running","bytes_in":53,"args_b3":"bbb17a6778851cbcfc917f5790e4ecbc359a89a8265cbe736efab0999c5e17fc"}
14 3cd9b289e51a7b106a8128d57737edda833e8f06412e6c1d120b920df7fa185a {"seq":14,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:50.155274Z","phase":"end","call":"18e93efa0c6eed3d3fb265895a36fbbe","tenant":"default","kind":"tool","door":"turn","server":"demo","name":"echo","issuer":"agent","subject":"qa","room":"rgfegchfnuop","status":"success","duration_us":96,"bytes_in":53,"bytes_out":47,"args_b3":"bbb17a6778851cbcfc917f5790e4ecbc359a89a8265cbe736efab0999c5e17fc","result_b3":"aeeb77ef32fd537ad08062de8fd127decdec910f8719e34356542f706f731695"}
', '');
INSERT INTO public.audit_pages VALUES ('18e93ef304310d769d32ee898d811932', 18, 15, 4, '15 cb1c7a1d1337654d5f4d5e4e6c21fb523f39177c7a953e0d4f2d918a45dc41b5 {"seq":15,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:52.327771Z","phase":"start","call":"18e93efa8deda0f6ebdf7448e721eca1","tenant":"default","kind":"tool","door":"turn","server":"demo","name":"echo","issuer":"agent","subject":"qa","room":"rrd756qfdhvf","status":"running","bytes_in":53,"args_b3":"e4c6105af952e0fbb4586968dc99ba34690dc1ea389a76193c4dfd8d58cad0b1"}
16 54620b8afbac3516a9fa3e927b4d666766a8521f8045ae8ef1b1e92dfcbe1e8d {"seq":16,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:52.327870Z","phase":"end","call":"18e93efa8deda0f6ebdf7448e721eca1","tenant":"default","kind":"tool","door":"turn","server":"demo","name":"echo","issuer":"agent","subject":"qa","room":"rrd756qfdhvf","status":"success","duration_us":115,"bytes_in":53,"bytes_out":47,"args_b3":"e4c6105af952e0fbb4586968dc99ba34690dc1ea389a76193c4dfd8d58cad0b1","result_b3":"98858be7806555e3b0dfb001e74c79710fca79838a4b9964c685f2690038005f"}
17 a08edd1ce453133d987676b79babd97d74bba79d195373d66c9e939a475eb949 {"seq":17,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:52.354533Z","phase":"start","call":"18e93efa8f861232d648c4dca651f4e0","tenant":"default","kind":"tool","door":"turn","server":"demo","name":"echo","issuer":"agent","subject":"qa","status":"running","bytes_in":51,"args_b3":"6725e7b78d1e2dd881e3463856edf44bf5f2717c0430e49ea9a29285ca9d3bd2"}
18 c998d19b1cea7dbdfc21185753b392cb42b413462406d274c85e2f484f66fe53 {"seq":18,"node":"18e93ef304310d769d32ee898d811932","time":"2026-11-18T20:52:52.354604Z","phase":"end","call":"18e93efa8f861232d648c4dca651f4e0","tenant":"default","kind":"tool","door":"turn","server":"demo","name":"echo","issuer":"agent","subject":"qa","status":"success","duration_us":89,"bytes_in":51,"bytes_out":45,"args_b3":"6725e7b78d1e2dd881e3463856edf44bf5f2717c0430e49ea9a29285ca9d3bd2","result_b3":"684bd228ff09e16c52b468b59fc64d42fe10149135dfd45ecbee476dfb6a23f8"}
', '');
INSERT INTO public.day_counts VALUES ('default', 'user/2mnhavo6upcxlg3x', 20775, 1);
INSERT INTO public.day_counts VALUES ('default', 'agent/qa', 20775, 4);
INSERT INTO public.events VALUES ('default', '18e93ef901cefa385ce2d51987bed01c', 'api', 'report.done', '41', 'k1', '\x7b2274657874223a227061676573227d', 0, 1, 'null', 1795035165681976, 0);
INSERT INTO public.events VALUES ('default', '18e93ef913ca0e0955c9d3421b917a5b', 'api', 'unmatched', '', '18e93ef913ca0e0955c9d3421b917a5b', '\x7b226e223a327d', 0, 0, 'null', 1795035165983641, 0);
INSERT INTO public.history_calls VALUES ('default', '18e93ef90c1c1fcfa15d2f74283634a3', 1795035165846790, 'tool', 'delivery', 'demo', 'echo', '', 'trigger', 'echoed', 'success', '', '', 8194, 238, 44, '{"name":"echo","arguments":{"text":"pages"},"_meta":{"junctor/delivery":{"id":"18e93ef903f5b76c00001beb124b5a43","event":"18e93ef901cefa385ce2d51987bed01c","type":"report.done","source":"api","trigger":"echoed","agent":"41","attempt":1}}}', '{"content":[{"type":"text","text":"pages"}]}', '', '', 8105, 0, 0, '', '', '');
INSERT INTO public.history_calls VALUES ('default', '18e93ef923119f69a7e4ff013ababbb6', 1795035166239938, 'tool', 'plain', 'demo', 'echo', '', 'user', '2mnhavo6upcxlg3x', 'success', '', '', 221, 71, 65, '{"name":"demo__echo","arguments":{"text":"from zoe: password=[redacted]"}}', '{"content":[{"type":"text","text":"from zoe: password=[redacted]"}]}', '2mnhavo6upcxlg3x', '', 151, 0, 0, '', '', '');
INSERT INTO public.history_calls VALUES ('default', '18e93ef93eb1b4c876bf227d9550153d', 1795035166703172, 'tool', 'plain', 'notes', 'write', '', 'key', 'imp47lta64onkbqf', 'success', '', '', 24218, 61, 64, '{"name":"notes__write","arguments":{"text":"from a service"}}', '{"content":[{"type":"text","text":"noted: from a service"}]}', '', '', 334, 373, 24200, '', '', '');
INSERT INTO public.history_calls VALUES ('default', '18e93ef94d0cd4bd7633258b42792447', 1795035166943889, 'tool', 'plain', 'demo', 'add', '2', 'agent', 'qa', 'success', '', '', 564, 46, 108, '{"name":"demo__add","arguments":{"a":1,"b":2}}', '{"content":[{"type":"text","text":"{\"sum\":3,\"a\":1,\"b\":2}"}],"structuredContent":{"sum":3,"a":1,"b":2}}', '', 'qa', 470, 0, 0, '', '', '');
INSERT INTO public.history_calls VALUES ('default', '18e93ef95d49458bdbed8787c74c563f', 1795035167216505, 'tool', 'plain', 'shelf', 'look', '', 'key', 'imp47lta64onkbqf', 'success', '', '', 1267456, 37, 48, '{"name":"shelf__look","arguments":{}}', '{"content":[{"type":"text","text":"books"}]}', '', '', 241, 1266713, 1267441, '', '', '');
INSERT INTO public.history_calls VALUES ('default', '18e93ef9ad296b941f1e18d54e994299', 1795035168556744, 'tool', 'plain', '', 'demo__nothing', '', 'key', 'imp47lta64onkbqf', 'invalid', 'not_found', 'unknown tool "demo__nothing"; tools/list shows what there is', 0, 39, 0, '', '', '', '', 0, 0, 0, '', '', '');
INSERT INTO public.history_calls VALUES ('default', '18e93efa0c6eed3d3fb265895a36fbbe', 1795035170155175, 'tool', 'turn', 'demo', 'echo', '', 'agent', 'qa', 'success', '', '', 96, 53, 47, '{"name":"demo__echo","arguments":{"text":"after me"}}', '{"content":[{"type":"text","text":"after me"}]}', '', 'qa', 70, 0, 0, '', '', 'rgfegchfnuop');
INSERT INTO public.history_calls VALUES ('default', '18e93efa8deda0f6ebdf7448e721eca1', 1795035172327735, 'tool', 'turn', 'demo', 'echo', '', 'agent', 'qa', 'success', '', '', 115, 53, 47, '{"name":"demo__echo","arguments":{"text":"a secret"}}', '{"content":[{"type":"text","text":"a secret"}]}', '', 'qa', 74, 0, 0, '', '', 'rrd756qfdhvf');
INSERT INTO public.history_calls VALUES ('default', '18e93efa8f861232d648c4dca651f4e0', 1795035172354512, 'tool', 'turn', 'demo', 'echo', '', 'agent', 'qa', 'success', '', '', 89, 51, 45, '{"name":"demo__echo","arguments":{"text":"by a2a"}}', '{"content":[{"type":"text","text":"by a2a"}]}', '', 'qa', 56, 0, 0, '', '', '');
INSERT INTO public.history_usage VALUES ('default', 20775, 'demo', 'echo', 'trigger', 'echoed', 1, 0, 0, 8194, 238, 44, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'delivery', '', '');
INSERT INTO public.history_usage VALUES ('default', 20775, 'demo', 'echo', 'user', '2mnhavo6upcxlg3x', 1, 0, 0, 221, 71, 65, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'plain', '2mnhavo6upcxlg3x', '');
INSERT INTO public.history_usage VALUES ('default', 20775, 'demo', 'add', 'agent', 'qa', 1, 0, 0, 564, 46, 108, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'plain', '', 'qa');
INSERT INTO public.history_usage VALUES ('default', 20775, 'notes', 'write', 'key', 'imp47lta64onkbqf', 1, 0, 0, 24218, 61, 64, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'plain', '', '');
INSERT INTO public.history_usage VALUES ('default', 20775, 'shelf', 'look', 'key', 'imp47lta64onkbqf', 1, 0, 0, 1267456, 37, 48, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 'plain', '', '');
INSERT INTO public.history_usage VALUES ('default', 20775, '', '(unknown)', 'key', 'imp47lta64onkbqf', 1, 0, 1, 0, 39, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'plain', '', '');
INSERT INTO public.history_usage VALUES ('default', 20775, 'demo', 'echo', 'agent', 'qa', 3, 0, 0, 300, 157, 139, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'turn', '', 'qa');
INSERT INTO public.history_version VALUES (1, 0, true, '2026-11-18 20:52:20.419259');
INSERT INTO public.history_version VALUES (2, 1, true, '2026-11-18 20:52:20.508479');
INSERT INTO public.history_version VALUES (3, 2, true, '2026-11-18 20:52:20.593772');
INSERT INTO public.history_version VALUES (4, 3, true, '2026-11-18 20:52:20.776131');
INSERT INTO public.history_version VALUES (5, 16, true, '2026-11-18 20:52:20.861164');
INSERT INTO public.history_version VALUES (6, 40, true, '2026-11-18 20:52:20.939068');
INSERT INTO public.job_claims VALUES ('default', '18e93ef90b4aa8a30000ac7be5ba431f', 'deliveries', '18e93ef304310d769d32ee898d811932', 1795035180841074, '{"18e93ef903f5b76c00001beb124b5a43":1}');
INSERT INTO public.job_lines VALUES ('default', 'deliveries', 'echoed/41', 1795035165718067052);
INSERT INTO public.jobs VALUES ('default', '18e93ef903f5b76c00001beb124b5a43', 'deliveries', 'default server:demo', 'echoed/41', 1795035165718067052, 0, '18e93ef901cefa385ce2d51987bed01c/echoed', '18e93ef901cefa385ce2d51987bed01c', 'echoed', '41', 'echo', '{"event":"18e93ef901cefa385ce2d51987bed01c","event_type":"report.done","source":"api","trigger":"echoed","agent":"41","target":{"server":"demo"},"tool":"echo","arguments":{"text":"pages"},"key":"echoed/41","dedupe":"18e93ef901cefa385ce2d51987bed01c/echoed"}', 'done', '', 1795035165855413, 1, 0, '', 0, 1, 0, 0, 0, '', 1795035165718067, 1795035165855413, '{"n":1,"begun":1795035165846663,"ms":8,"outcome":"delivered","answer":"{\"content\":[{\"type\":\"text\",\"text\":\"pages\"}]}","call":"18e93ef90c1c1fcfa15d2f74283634a3"}
', DEFAULT);
INSERT INTO public.keys VALUES ('acme', '6xf6epnefydyhbqp', 'admin', 'jct_6xf6epne', '\x852f9ca1620728b0b65b20673473016caea37d8ed1f3ff61738bdb04e64c679a', 'admin', 1795035142777399, NULL, NULL, NULL, '', '', NULL, NULL);
INSERT INTO public.keys VALUES ('default', 'cqql66mchagwx6vs', 'qa', 'jct_cqql66mc', '\x9c8c1f87c5b90992fa2788cc25fe27371f97ded8bc382df90eb1d7c1d2b9f22e', 'tools:read tools:call', 1795035157660797, NULL, NULL, NULL, '', 'qa', NULL, NULL);
INSERT INTO public.keys VALUES ('default', 'imp47lta64onkbqf', 'service', 'jct_imp47lta', '\x4652f0ca843ee94783f8fe730c1f9c4bb01a91c37cbce22a87cb921c2082701e', 'tools:read tools:call audit:read', 1795035147259567, NULL, NULL, 1795035168556670, '', '', NULL, NULL);
INSERT INTO public.keys VALUES ('default', 'n6gkus3pfyzuqjs2', 'zoe', 'jct_n6gkus3p', '\x4a8eb43e72ceebd02c45200ff254c9a1acb9dfb798aeef90b18fa67f6738903e', 'tools:read tools:call', 1795035144915624, NULL, NULL, 1795035166239847, '2mnhavo6upcxlg3x', '', NULL, NULL);
INSERT INTO public.keys VALUES ('default', 'vv2mamkjytj2mciu', 'qa', 'jct_vv2mamkj', '\x7116e1e8babb8bdc00fcefed9fa319371b50a05d1d55c4eb5e52eb1a733a96e8', 'tools:read tools:call', 1795035160327406, NULL, NULL, 1795035166943818, '', 'qa', NULL, NULL);
INSERT INTO public.keys VALUES ('default', 'yxk7wkpazk3u5xul', 'admin', '', '\x82007d29a6e0686708f2ef128b4d5d2225286cb76e82f74b09324d61ec36f968', 'admin', 1795035141255055, NULL, NULL, 1795035175515426, '', '', NULL, NULL);
INSERT INTO public.leases VALUES ('default', 'schedules', '3ealjscx6f', 0, 1);
INSERT INTO public.leases VALUES ('default', 'documents', '3ealjscx6f', 0, 1);
INSERT INTO public.leases VALUES ('default', 'retention', '3ealjscx6f', 0, 1);
INSERT INTO public.leases VALUES ('default', 'chains', '3ealjscx6f', 0, 1);
INSERT INTO public.models VALUES ('default', 'local', 'openai', 'http://127.0.0.1:18793/v1', 'm', 0, 1795035162917033, 1795035162917033);
INSERT INTO public.published_agents VALUES ('qa', 'default', 1795035157600779);
INSERT INTO public.ring_keys VALUES ('default', 'oPq6mXK1', 1795035139855290, '\xa41bfe503193afe6132e9705c663b33cc05fbc4277dc53961907afed99579db39bf54fadfb5af9912ea45c96cd49e9f35f46f56e040b9f2a70c8fa5e7f92f3b984027936');
INSERT INTO public.schedules VALUES ('default', 'nightly', '{"cron":"0 3 1 1 *","timezone":"Europe/Berlin","type":"report.due","data":{"a":1}}', 0, '', 1798768800000000, NULL, 1795035165009061, 1795035165009061);
INSERT INTO public.schema_version VALUES (1, 0, true, '2026-11-18 20:52:16.914063');
INSERT INTO public.schema_version VALUES (2, 1, true, '2026-11-18 20:52:17.146917');
INSERT INTO public.schema_version VALUES (3, 2, true, '2026-11-18 20:52:17.474886');
INSERT INTO public.schema_version VALUES (4, 3, true, '2026-11-18 20:52:17.594896');
INSERT INTO public.schema_version VALUES (5, 4, true, '2026-11-18 20:52:17.666879');
INSERT INTO public.schema_version VALUES (6, 5, true, '2026-11-18 20:52:17.715051');
INSERT INTO public.schema_version VALUES (7, 6, true, '2026-11-18 20:52:17.844985');
INSERT INTO public.schema_version VALUES (8, 7, true, '2026-11-18 20:52:17.934881');
INSERT INTO public.schema_version VALUES (9, 9, true, '2026-11-18 20:52:18.273009');
INSERT INTO public.schema_version VALUES (10, 10, true, '2026-11-18 20:52:18.440304');
INSERT INTO public.schema_version VALUES (11, 12, true, '2026-11-18 20:52:18.456619');
INSERT INTO public.schema_version VALUES (12, 13, true, '2026-11-18 20:52:18.472066');
INSERT INTO public.schema_version VALUES (13, 14, true, '2026-11-18 20:52:18.583575');
INSERT INTO public.schema_version VALUES (14, 15, true, '2026-11-18 20:52:18.623453');
INSERT INTO public.schema_version VALUES (15, 17, true, '2026-11-18 20:52:18.631478');
INSERT INTO public.schema_version VALUES (16, 18, true, '2026-11-18 20:52:18.65897');
INSERT INTO public.schema_version VALUES (17, 19, true, '2026-11-18 20:52:18.70397');
INSERT INTO public.schema_version VALUES (18, 20, true, '2026-11-18 20:52:18.706115');
INSERT INTO public.schema_version VALUES (19, 21, true, '2026-11-18 20:52:18.803938');
INSERT INTO public.schema_version VALUES (20, 23, true, '2026-11-18 20:52:18.945879');
INSERT INTO public.schema_version VALUES (21, 24, true, '2026-11-18 20:52:19.018906');
INSERT INTO public.schema_version VALUES (22, 25, true, '2026-11-18 20:52:19.054674');
INSERT INTO public.schema_version VALUES (23, 26, true, '2026-11-18 20:52:19.174888');
INSERT INTO public.schema_version VALUES (24, 27, true, '2026-11-18 20:52:19.259083');
INSERT INTO public.schema_version VALUES (25, 28, true, '2026-11-18 20:52:19.265317');
INSERT INTO public.schema_version VALUES (26, 29, true, '2026-11-18 20:52:19.461');
INSERT INTO public.schema_version VALUES (27, 30, true, '2026-11-18 20:52:19.506509');
INSERT INTO public.schema_version VALUES (28, 31, true, '2026-11-18 20:52:19.566884');
INSERT INTO public.schema_version VALUES (29, 32, true, '2026-11-18 20:52:19.621873');
INSERT INTO public.schema_version VALUES (30, 36, true, '2026-11-18 20:52:19.651128');
INSERT INTO public.schema_version VALUES (31, 37, true, '2026-11-18 20:52:19.692318');
INSERT INTO public.schema_version VALUES (32, 39, true, '2026-11-18 20:52:19.708831');
INSERT INTO public.secrets VALUES ('default', 'notes', 'conn-18e93ef56c69a394a801f8bbc899aa43', 'a41bfe503193afe6', '\xa41bfe503193afe6d9f349ac87f3c120ff45485608567e32ceb3889776d5a4985f51e66280c8053755cbce32829b0f6a0639b305463f345e860df3b3b06f8d8f053f7072', '\x79ca2e2bc8092992dff9899c2b9665ab56aa9d0e83d10e570bc460dbd9060055975732570bd668de810b5906577eba696dd9638853243209d4d6169f9883f55ae472050c4bae783618a53cb5e2df4d3a188cc4c2761c80ae5b6cf967033832ce11d90c4dcd0aa0d8350076bf9937a5d889469fb9760347c36569ed358ac29788020b7df8', 1795035150290790, 1795035150290790);
INSERT INTO public.secrets VALUES ('default', 'shelf', 'conn-18e93ef6420bdc8c259d1ab950019a0e', 'a41bfe503193afe6', '\xa41bfe503193afe6f877186ebae94ebfa2080444858e563d2f7fa863b23d20099320886638501773bdfe2b1b0bc04a3efa1c74849cc2eb2020636b94bf4880f46430cdd4', '\xb8536f09026eec13408875d15e5c64678963e1dbeb911d560ce212bec024dc572e75643d5f89374a463ce70169374e240067471dafae98228120e361c4307bb020198850eec74b061014c4', 1795035153875110, 1795035153875110);
INSERT INTO public.secrets VALUES ('default', 'endpoint', 'token-3c5abfb3e2ae1753fd35f65a32b72487', 'a41bfe503193afe6', '\xa41bfe503193afe63f419a8a3ad3b65a01142a1d5b540f3c0a3b492cfea9ff6380d4566ebfa1d17f39875237ef85be540a623230e813c33886d4803f16ecd6e427db3933', '\x241108dc88f6338369d4d17758b97fae24476ecf2d2e857e1485c6b58c8ea9d42bc659baa675a3ec20148890aa9f5c7e5f00', 1795035162559230, 1795035162559230);
INSERT INTO public.secrets VALUES ('default', 'endpoint', 'sign-3c5abfb3e2ae1753fd35f65a32b72487', 'a41bfe503193afe6', '\xa41bfe503193afe6f7aded1c0012a9e5facc9d598687eba046f396c98159bcc862e0abf905d5f906739955c5c5d5a42692e4763e4c4aef4c55bb3b6db0a8394e21460a73', '\x8e2667465c02e55f53ae91faa7dd7264b412105a332ec53ba209f85f82aff6c3544043b28bc1225b390a4725f63737754c5ff02ee6e6e7f7f4fe97c787356e27142e1db28b9d5826247d9f4023cd', 1795035162563564, 1795035162563564);
INSERT INTO public.secrets VALUES ('default', 'model:local', 'key', 'a41bfe503193afe6', '\xa41bfe503193afe65a422ed1d716eeba2945bf67b35bb5c25b44f9b3543e9ce8a00e0d08f5dc3b743527f6122fb464dddb307bece55963c1038a3511870f02e3a38a4369', '\xbf4ccd9774dc7ffa5ac8f01b2c2a440d9bf2ae6419a88d7de190bff415a71675702812c33def749b795b5ca7ee2f63', 1795035162918399, 1795035162918399);
INSERT INTO public.secrets VALUES ('default', 'ocr', 'google_vision', 'a41bfe503193afe6', '\xa41bfe503193afe6b8920d5ccd750e88c36448711a7f89b3940e5bf438190f4e8ac6a21c0fc6a64aa8aac3ffbb8067502d094a87da83348e0d5317757d1962974666bd6c', '\x97987bc2412a18a6db29c7e49110674c0a0e0231511e6d87039108311dd6a3f22692347dc5953686085cfdc6', 1795035163160865, 1795035163160865);
INSERT INTO public.secrets VALUES ('default', 'source:shop', 'secret', 'a41bfe503193afe6', '\xa41bfe503193afe6182dff377c25d02e9b831bd81702a0d43970af6ba992718bc7ec29113e9131af71fa852c8e6c6b8f4d668bb3c5fa4bab7fa0d79af140d543f2415e2a', '\x60db181bd53b95b8f5cf6b4166993c65c52c551960fd4ded6deecb306698ca62c92326b251df761e21df67dfe2df975f526de84f2a66940fa55d7d455c6fa1696a3e', 1795035164785384, 1795035164785384);
INSERT INTO public.seen_servers VALUES ('default', 'notes', '\xffa67f030101054f6666657201ff8000010b010c496e737472756374696f6e73010c000105546f6f6c7301ff840001095265736f757263657301ff8800010954656d706c6174657301ff8800010750726f6d70747301ff8c00010b436f6d706c6574696f6e73010200010953756273637269626501020001074c6f6767696e6701020001055461736b73010200010741776169746564010200010842656c6965766564010200000020ff83020101115b5d636174616c6f672e546f6f6c44656601ff840001ff8200006eff8103010107546f6f6c44656601ff8200010801044e616d65010c00010756657273696f6e010c00010744656661756c74010200010754696d656f757401040001044a534f4e010a00010450616765010c000105546f706963010c00010b436f6e646974696f6e616c010200000024ff87020101155b5d636174616c6f672e5265736f7572636544656601ff880001ff8600002aff850301010b5265736f7572636544656601ff860001020103555249010c0001044a534f4e010a00000022ff8b020101135b5d636174616c6f672e50726f6d707444656601ff8c0001ff8a000029ff890301010950726f6d707444656601ff8a00010201044e616d65010c0001044a534f4e010a000000ff90ff8002010105777269746504ff807b226e616d65223a20227772697465222c20226465736372697074696f6e223a20225772697465732061206e6f7465222c2022696e707574536368656d61223a207b2274797065223a20226f626a656374222c202270726f70657274696573223a207b2274657874223a207b2274797065223a2022737472696e67227d7d7d7d0000', 0, 1795035150533050, '');
INSERT INTO public.seen_servers VALUES ('default', 'shelf', '\xffa67f030101054f6666657201ff8000010b010c496e737472756374696f6e73010c000105546f6f6c7301ff840001095265736f757263657301ff8800010954656d706c6174657301ff8800010750726f6d70747301ff8c00010b436f6d706c6574696f6e73010200010953756273637269626501020001074c6f6767696e6701020001055461736b73010200010741776169746564010200010842656c6965766564010200000020ff83020101115b5d636174616c6f672e546f6f6c44656601ff840001ff8200006eff8103010107546f6f6c44656601ff8200010801044e616d65010c00010756657273696f6e010c00010744656661756c74010200010754696d656f757401040001044a534f4e010a00010450616765010c000105546f706963010c00010b436f6e646974696f6e616c010200000024ff87020101155b5d636174616c6f672e5265736f7572636544656601ff880001ff8600002aff850301010b5265736f7572636544656601ff860001020103555249010c0001044a534f4e010a00000022ff8b020101135b5d636174616c6f672e50726f6d707444656601ff8c0001ff8a000029ff890301010950726f6d707444656601ff8a00010201044e616d65010c0001044a534f4e010a00000041ff80020101046c6f6f6b04337b226e616d65223a20226c6f6f6b222c2022696e707574536368656d61223a207b2274797065223a20226f626a656374227d7d0000', 0, 1795035168483622, '');
INSERT INTO public.servers VALUES ('default', 'demo', 'builtin', 'Demo', 'active', '', '{}', 1795035141420991, 1795035141420991);
INSERT INTO public.servers VALUES ('default', 'ocr', 'builtin', 'Text recognition', 'active', '', '{}', 1795035141504582, 1795035141504582);
INSERT INTO public.servers VALUES ('default', 'events', 'builtin', 'Events', 'active', '', '{}', 1795035165198320, 1795035165198320);
INSERT INTO public.servers VALUES ('default', 'notes', 'bring-your-own', 'Notes', 'inactive', '', '{"owner":"key:yxk7wkpazk3u5xul","credential":"conn-18e93ef56c69a394a801f8bbc899aa43","connection":{"transport":"http","url":"http://127.0.0.1:18790/mcp","auth":{"type":"bearer","secret":"***"},"headers":{"X-Team":"***"}}}', 1795035150308388, 1795035175535473);
INSERT INTO public.servers VALUES ('default', 'shelf', 'bring-your-own', 'A command', 'inactive', '', '{"owner":"key:yxk7wkpazk3u5xul","credential":"conn-18e93ef6420bdc8c259d1ab950019a0e","connection":{"transport":"stdio","command":["shelf-mcp"],"env":{"SHELF":"***"}}}', 1795035153882712, 1795035175604587);
INSERT INTO public.servers VALUES ('default', 'pets', 'auto-generated', 'Pets', 'inactive', '', '{"owner":"key:yxk7wkpazk3u5xul","connection":{"transport":"http","url":"http://127.0.0.1:18791"},"api":{"title":"Pets","version":"1"}}', 1795035154157071, 1795035175819068);
INSERT INTO public.servers VALUES ('default', 'agent-1-41', 'discovered', 'Agent 41 on main', 'inactive', '', '{"found":"eip155:1:0x8004a818bfb912233c491871b3d84c89a494bd9e/41","connection":{"url":"http://127.0.0.1:18792/mcp"}}', 1795035150308388, 1795035175535473);
INSERT INTO public.settings VALUES ('default', 'roles', '["Legal"]', 1795035163263002);
INSERT INTO public.settings VALUES ('default', 'limits', '{"tiers":{"free":{"per_second":5,"per_day":2000},"pro":{"per_second":100,"burst":200,"per_day":1000000,"concurrent":64},"unlimited":{}},"tools":{"demo/echo":{"concurrent":7}}}', 1795035164649478);
INSERT INTO public.settings VALUES ('default', 'journal/18e93ef304310d769d32ee898d811932', '{"key":"weAb6zkM3IYQctPcZkIfI4gXmKR0ZpbNbEpk8yvTnF4=","head":{"node":"18e93ef304310d769d32ee898d811932","seq":18,"hash":"c998d19b1cea7dbdfc21185753b392cb42b413462406d274c85e2f484f66fe53","time":"2026-11-18T20:52:57.315016466Z","shipped":18,"closed":true,"signature":"5M/37kyTfX1wsRyYkbEL8jZa8O8oE981CBtqWTI3RLgyakr7cieI+MuiizfCMfjY1fg12G5WTQ9XwRI5DAaJAQ=="}}', 1795035177344810);
INSERT INTO public.sources VALUES ('shop', 'default', '{"style":"standard","title":"The shop"}', 0, '', 1795035164795816, 1795035164795816);
INSERT INTO public.tenants VALUES ('acme', 'Acme', 1795035142777399);
INSERT INTO public.tenants VALUES ('default', 'Default', 1795035137155400);
INSERT INTO public.tool_tags VALUES ('default', 'demo', 'echo', '[]', 'Testing', 'key:yxk7wkpazk3u5xul', 1795035163374706);
INSERT INTO public.triggers VALUES ('default', 'echoed', '{"title":"Echo","owner":"key:yxk7wkpazk3u5xul","match":{"type":"report.*"},"action":{"server":"demo","tool":"echo","template":{"text":"{{data.text}}"}}}', 0, '', 1795035165196584, 1795035165196584);
INSERT INTO public.triggers VALUES ('default', 'held', '{"owner":"key:yxk7wkpazk3u5xul","match":{"type":"other"},"action":{"server":"demo","tool":"add"}}', 1, '', 1795035165377288, 1795035165377288);
INSERT INTO public.users VALUES ('default', '7cu3za5gdsdvkfem', 'ann@example.com', 'admin', 'bring-your-own', 'free', '', 0, 1795035143491957, 1795035143491957);
INSERT INTO public.users VALUES ('default', '2mnhavo6upcxlg3x', 'zoe@example.com', 'developer', 'both', 'free', '$argon2id$v=19$m=19456,t=2,p=1$8cD28Zw8BC3rmczaXEN5jw$TnWUMnlvIxCKNR9lBwc7gOj4T8RvIX4waHw4R16UPI8', 0, 1795035143223729, 1795035144746619);
INSERT INTO public.workspace_members VALUES ('default', 'rgfegchfnuop', 'agent', 'qa', 0);
INSERT INTO public.workspace_members VALUES ('default', 'rrd756qfdhvf', 'agent', 'qa', 0);
INSERT INTO public.workspace_messages VALUES ('default', 'rgfegchfnuop', '18e93efa03d67f60cea436f1645084da', 1, '18e93efa03d66c306a9ddd328762c61f', 'user', 'operator', 'local:operator', '{"text":"@qa repeat after me"}', 'operator
@qa repeat after me', 1795035170010989);
INSERT INTO public.workspace_messages VALUES ('default', 'rgfegchfnuop', '18e93efa09c74a53001bb43c6cc24907', 2, '18e93efa03d66c306a9ddd328762c61f', 'agent', 'qa', '', '{"text":"","calls":[{"id":"call_BYCHEWZZHZQZP4IX","name":"demo__echo","server":"demo","tool":"echo","arguments":{"text":"after me"},"state":"done","result_text":"after me","record":"18e93efa0c6eed3d3fb265895a36fbbe"}]}', 'qa
demo__echo
after me', 1795035170110655);
INSERT INTO public.workspace_messages VALUES ('default', 'rgfegchfnuop', '18e93efa0dce638891f7bf412673f232', 3, '18e93efa03d66c306a9ddd328762c61f', 'agent', 'qa', '', '{"text":"You said: after me"}', 'qa
you said: after me', 1795035170178229);
INSERT INTO public.workspace_messages VALUES ('default', 'rgfegchfnuop', '18e93efa399b60bedbecf0c90a4e6c7f', 4, '18e93efa399b1a30ca024573741f0e56', 'user', 'operator', 'local:operator', '{"text":"sing"}', 'operator
sing', 1795035170913085);
INSERT INTO public.workspace_messages VALUES ('default', 'rgfegchfnuop', '18e93efa3dac680e7888c717978a577c', 5, '18e93efa399b1a30ca024573741f0e56', 'agent', 'qa', '', '{"text":"I can repeat."}', 'qa
i can repeat.', 1795035170981308);
INSERT INTO public.workspace_messages VALUES ('default', 'rrd756qfdhvf', '18e93efa8db4a642f08af9213eb4902e', 1, '18e93efa8db499e32ce965b9bca85249', 'user', 'operator', 'local:operator', '{"text":"@qa repeat a secret"}', 'operator
@qa repeat a secret', 1795035172324027);
INSERT INTO public.workspace_messages VALUES ('default', 'rrd756qfdhvf', '18e93efa8ddde331472d1fea2ed14e3d', 2, '18e93efa8db499e32ce965b9bca85249', 'agent', 'qa', '', '{"text":"","calls":[{"id":"call_IFFZZG66JI4XG6Y5","name":"demo__echo","server":"demo","tool":"echo","arguments":{"text":"a secret"},"state":"done","result_text":"a secret","record":"18e93efa8deda0f6ebdf7448e721eca1"}]}', 'qa
demo__echo
a secret', 1795035172326729);
INSERT INTO public.workspace_messages VALUES ('default', 'rrd756qfdhvf', '18e93efa8df7022e89135f51541d6f3e', 3, '18e93efa8db499e32ce965b9bca85249', 'agent', 'qa', '', '{"text":"You said: a secret"}', 'qa
you said: a secret', 1795035172328375);
INSERT INTO public.workspace_runs VALUES ('default', 'rgfegchfnuop', '18e93efa03d66c306a9ddd328762c61f', 'done', 'local:operator', '18e93ef304310d769d32ee898d811932', '', '', 0, 0, 0, 1795035170030196, 1795035170030196, 1795035170255226);
INSERT INTO public.workspace_runs VALUES ('default', 'rgfegchfnuop', '18e93efa399b1a30ca024573741f0e56', 'done', 'local:operator', '18e93ef304310d769d32ee898d811932', '', '', 0, 0, 0, 1795035170914381, 1795035170914381, 1795035171052578);
INSERT INTO public.workspace_runs VALUES ('default', 'rrd756qfdhvf', '18e93efa8db499e32ce965b9bca85249', 'done', 'local:operator', '18e93ef304310d769d32ee898d811932', '', '', 0, 0, 0, 1795035172324247, 1795035172324247, 1795035172329139);
INSERT INTO public.workspaces VALUES ('default', 'rgfegchfnuop', 'Kitchen', '{"policy":"router","max_rounds":3,"approvals":"never"}', 'local:operator', 1795035169508195, 1795035169508195);
INSERT INTO public.workspaces VALUES ('default', 'rrd756qfdhvf', 'Cellar', '{"policy":"router","max_rounds":3,"approvals":"ask"}', 'local:operator', 1795035171571277, 1795035171571277);
SELECT pg_catalog.setval('public.history_version_id_seq', 6, true);
SELECT pg_catalog.setval('public.schema_version_id_seq', 32, true);
ALTER TABLE ONLY public.agent_endpoints
    ADD CONSTRAINT agent_endpoints_pkey PRIMARY KEY (tenant_id, agent, origin);
ALTER TABLE ONLY public.agent_grants
    ADD CONSTRAINT agent_grants_pkey PRIMARY KEY (tenant_id, agent, kind, server, item);
ALTER TABLE ONLY public.agent_task_pushes
    ADD CONSTRAINT agent_task_pushes_pkey PRIMARY KEY (tenant_id, task_id, id);
ALTER TABLE ONLY public.agent_tasks
    ADD CONSTRAINT agent_tasks_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (tenant_id, name);
ALTER TABLE ONLY public.api_documents
    ADD CONSTRAINT api_documents_pkey PRIMARY KEY (tenant_id, server);
ALTER TABLE ONLY public.app_approvals
    ADD CONSTRAINT app_approvals_pkey PRIMARY KEY (tenant_id, server, resource);
ALTER TABLE ONLY public.audit_heads
    ADD CONSTRAINT audit_heads_pkey PRIMARY KEY (node);
ALTER TABLE ONLY public.audit_pages
    ADD CONSTRAINT audit_pages_pkey PRIMARY KEY (node, last);
ALTER TABLE ONLY public.chain_blocks
    ADD CONSTRAINT chain_blocks_pkey PRIMARY KEY (tenant_id, chain, number);
ALTER TABLE ONLY public.chain_events
    ADD CONSTRAINT chain_events_pkey PRIMARY KEY (tenant_id, chain, block_hash, log_index);
ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.consent_tokens
    ADD CONSTRAINT consent_tokens_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.consent_tokens
    ADD CONSTRAINT consent_tokens_pkey PRIMARY KEY (tenant_id, hash);
ALTER TABLE ONLY public.consents
    ADD CONSTRAINT consents_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.consents
    ADD CONSTRAINT consents_tenant_id_user_id_client_id_resource_key UNIQUE (tenant_id, user_id, client_id, resource);
ALTER TABLE ONLY public.day_counts
    ADD CONSTRAINT day_counts_pkey PRIMARY KEY (tenant_id, party, day);
ALTER TABLE ONLY public.event_waits
    ADD CONSTRAINT event_waits_pkey PRIMARY KEY (tenant_id, trigger_name, event_id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_tenant_id_source_dedupe_key_key UNIQUE (tenant_id, source, dedupe_key);
ALTER TABLE ONLY public.history_calls
    ADD CONSTRAINT history_calls_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.history_usage
    ADD CONSTRAINT history_usage_pkey PRIMARY KEY (tenant_id, day, server, name, door, issuer, subject, user_id, agent);
ALTER TABLE ONLY public.history_version
    ADD CONSTRAINT history_version_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.homes
    ADD CONSTRAINT homes_pkey PRIMARY KEY (tenant_id, name);
ALTER TABLE ONLY public.instance
    ADD CONSTRAINT instance_pkey PRIMARY KEY (tenant_id);
ALTER TABLE ONLY public.job_claims
    ADD CONSTRAINT job_claims_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.job_lanes
    ADD CONSTRAINT job_lanes_pkey PRIMARY KEY (queue, lane);
ALTER TABLE ONLY public.job_lines
    ADD CONSTRAINT job_lines_pkey PRIMARY KEY (tenant_id, queue, order_key);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (tenant_id, id) WITH (fillfactor='50');
ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (tenant_id, name);
ALTER TABLE ONLY public.login_traces
    ADD CONSTRAINT login_traces_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.logins
    ADD CONSTRAINT logins_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.logins
    ADD CONSTRAINT logins_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.models
    ADD CONSTRAINT models_pkey PRIMARY KEY (tenant_id, name);
ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.published_agents
    ADD CONSTRAINT published_agents_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.removed_servers
    ADD CONSTRAINT removed_servers_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.ring_keys
    ADD CONSTRAINT ring_keys_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (tenant_id, name);
ALTER TABLE ONLY public.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.secrets
    ADD CONSTRAINT secrets_pkey PRIMARY KEY (tenant_id, owner, name);
ALTER TABLE ONLY public.seen_servers
    ADD CONSTRAINT seen_servers_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.servers
    ADD CONSTRAINT servers_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (tenant_id, name);
ALTER TABLE ONLY public.sources
    ADD CONSTRAINT sources_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.tenants
    ADD CONSTRAINT tenants_pkey PRIMARY KEY (tenant_id);
ALTER TABLE ONLY public.tool_changes
    ADD CONSTRAINT tool_changes_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.tool_suggestions
    ADD CONSTRAINT tool_suggestions_pkey PRIMARY KEY (tenant_id, server, tool);
ALTER TABLE ONLY public.tool_tags
    ADD CONSTRAINT tool_tags_pkey PRIMARY KEY (tenant_id, server, tool);
ALTER TABLE ONLY public.triggers
    ADD CONSTRAINT triggers_pkey PRIMARY KEY (tenant_id, name);
ALTER TABLE ONLY public.used_states
    ADD CONSTRAINT used_states_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.user_links
    ADD CONSTRAINT user_links_pkey PRIMARY KEY (issuer, subject);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_tenant_id_name_key UNIQUE (tenant_id, name);
ALTER TABLE ONLY public.workspace_approvals
    ADD CONSTRAINT workspace_approvals_pkey PRIMARY KEY (tenant_id, workspace_id, id);
ALTER TABLE ONLY public.workspace_members
    ADD CONSTRAINT workspace_members_pkey PRIMARY KEY (tenant_id, workspace_id, kind, member);
ALTER TABLE ONLY public.workspace_messages
    ADD CONSTRAINT workspace_messages_pkey PRIMARY KEY (tenant_id, workspace_id, id);
ALTER TABLE ONLY public.workspace_messages
    ADD CONSTRAINT workspace_messages_tenant_id_workspace_id_seq_key UNIQUE (tenant_id, workspace_id, seq);
ALTER TABLE ONLY public.workspace_runs
    ADD CONSTRAINT workspace_runs_pkey PRIMARY KEY (tenant_id, workspace_id, id);
ALTER TABLE ONLY public.workspaces
    ADD CONSTRAINT workspaces_pkey PRIMARY KEY (tenant_id, id);
CREATE INDEX agent_grants_server ON public.agent_grants USING btree (tenant_id, server);
CREATE INDEX agent_tasks_age ON public.agent_tasks USING btree (status_at);
CREATE INDEX agent_tasks_beat ON public.agent_tasks USING btree (beat_at) WHERE (running = 1);
CREATE INDEX agent_tasks_list ON public.agent_tasks USING btree (tenant_id, agent, owner, status_at, id);
CREATE INDEX chain_events_of ON public.chain_events USING btree (tenant_id, agent, number);
CREATE INDEX chain_events_open ON public.chain_events USING btree (tenant_id, chain, number, log_index) WHERE (state <> 'orphaned'::text);
CREATE INDEX clients_unused ON public.clients USING btree (created_at) WHERE (used_at IS NULL);
CREATE INDEX consent_tokens_consent ON public.consent_tokens USING btree (tenant_id, consent_id);
CREATE INDEX consent_tokens_expiry ON public.consent_tokens USING btree (expires_at);
CREATE INDEX consent_tokens_family ON public.consent_tokens USING btree (tenant_id, family);
CREATE INDEX events_received ON public.events USING btree (received_at);
CREATE INDEX history_calls_time ON public.history_calls USING btree (tenant_id, at, id);
CREATE INDEX job_claims_until ON public.job_claims USING btree (queue, until);
CREATE UNIQUE INDEX jobs_dedupe ON public.jobs USING btree (tenant_id, queue, dedupe_key) WHERE (dedupe_key IS NOT NULL);
CREATE INDEX jobs_ended ON public.jobs USING brin (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX jobs_line ON public.jobs USING btree (tenant_id, queue, order_key, seq) WHERE (blocks = 1);
CREATE UNIQUE INDEX jobs_one_moves ON public.jobs USING btree (tenant_id, queue, order_key) WHERE ((blocks = 1) AND (phase <> 0));
CREATE INDEX jobs_ready ON public.jobs USING btree (queue, lane, run_at, seq) WHERE (phase = 1);
CREATE INDEX jobs_stuck ON public.jobs USING btree (queue, phase) WHERE (phase = ANY (ARRAY[(2)::bigint, (3)::bigint]));
CREATE UNIQUE INDEX keys_one_admin ON public.keys USING btree (tenant_id) WHERE (name = 'admin'::text);
CREATE INDEX login_traces_server ON public.login_traces USING btree (tenant_id, server, id);
CREATE INDEX login_traces_user ON public.login_traces USING btree (tenant_id, user_id);
CREATE INDEX logins_expiry ON public.logins USING btree (expires_at);
CREATE INDEX schedules_due ON public.schedules USING btree (next_at);
CREATE INDEX sessions_expiry ON public.sessions USING btree (expires_at);
CREATE INDEX sources_tenant ON public.sources USING btree (tenant_id);
CREATE INDEX tasks_by_end ON public.tasks USING btree (expires_at);
CREATE INDEX tasks_by_principal ON public.tasks USING btree (tenant_id, issuer, subject, id);
CREATE INDEX tool_changes_seen ON public.tool_changes USING btree (tenant_id, seen_at);
CREATE INDEX tool_changes_tool ON public.tool_changes USING btree (tenant_id, server, tool);
CREATE INDEX used_states_expiry ON public.used_states USING btree (expires_at);
CREATE INDEX user_links_user ON public.user_links USING btree (tenant_id, user_id);
CREATE INDEX workspace_approvals_state ON public.workspace_approvals USING btree (tenant_id, workspace_id, state, remember);
CREATE INDEX workspace_runs_beat ON public.workspace_runs USING btree (beat_at) WHERE (state = 'running'::text);
CREATE UNIQUE INDEX workspace_runs_one ON public.workspace_runs USING btree (tenant_id, workspace_id) WHERE (state = 'running'::text);
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON public.agent_grants FOR EACH STATEMENT EXECUTE FUNCTION public.junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON public.agents FOR EACH STATEMENT EXECUTE FUNCTION public.junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON public.api_documents FOR EACH STATEMENT EXECUTE FUNCTION public.junctor_tell();
CREATE TRIGGER tell AFTER DELETE ON public.consent_tokens FOR EACH STATEMENT EXECUTE FUNCTION public.junctor_tell();
CREATE TRIGGER tell AFTER DELETE ON public.consents FOR EACH STATEMENT EXECUTE FUNCTION public.junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE OF name, hash, former_hash, former_until, scopes, expires_at, revoked_at, user_id, agent ON public.keys FOR EACH STATEMENT EXECUTE FUNCTION public.junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE OF expires_at, revoked_at ON public.logins FOR EACH STATEMENT EXECUTE FUNCTION public.junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE ON public.nodes FOR EACH STATEMENT EXECUTE FUNCTION public.junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON public.ring_keys FOR EACH STATEMENT EXECUTE FUNCTION public.junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON public.servers FOR EACH STATEMENT EXECUTE FUNCTION public.junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON public.settings FOR EACH STATEMENT EXECUTE FUNCTION public.junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE ON public.tenants FOR EACH STATEMENT EXECUTE FUNCTION public.junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON public.tool_tags FOR EACH STATEMENT EXECUTE FUNCTION public.junctor_tell();
CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON public.users FOR EACH STATEMENT EXECUTE FUNCTION public.junctor_tell();
ALTER TABLE ONLY public.agent_endpoints
    ADD CONSTRAINT agent_endpoints_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.agent_grants
    ADD CONSTRAINT agent_grants_tenant_id_agent_fkey FOREIGN KEY (tenant_id, agent) REFERENCES public.agents(tenant_id, name) ON DELETE CASCADE;
ALTER TABLE ONLY public.agent_grants
    ADD CONSTRAINT agent_grants_tenant_id_server_fkey FOREIGN KEY (tenant_id, server) REFERENCES public.servers(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.agent_task_pushes
    ADD CONSTRAINT agent_task_pushes_tenant_id_task_id_fkey FOREIGN KEY (tenant_id, task_id) REFERENCES public.agent_tasks(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.agent_tasks
    ADD CONSTRAINT agent_tasks_tenant_id_agent_fkey FOREIGN KEY (tenant_id, agent) REFERENCES public.agents(tenant_id, name) ON DELETE CASCADE;
ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.api_documents
    ADD CONSTRAINT api_documents_tenant_id_server_fkey FOREIGN KEY (tenant_id, server) REFERENCES public.servers(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.app_approvals
    ADD CONSTRAINT app_approvals_tenant_id_server_fkey FOREIGN KEY (tenant_id, server) REFERENCES public.servers(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.chain_blocks
    ADD CONSTRAINT chain_blocks_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.chain_events
    ADD CONSTRAINT chain_events_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.consent_tokens
    ADD CONSTRAINT consent_tokens_tenant_id_consent_id_fkey FOREIGN KEY (tenant_id, consent_id) REFERENCES public.consents(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.consents
    ADD CONSTRAINT consents_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.day_counts
    ADD CONSTRAINT day_counts_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.event_waits
    ADD CONSTRAINT event_waits_tenant_id_trigger_name_fkey FOREIGN KEY (tenant_id, trigger_name) REFERENCES public.triggers(tenant_id, name) ON DELETE CASCADE;
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.instance
    ADD CONSTRAINT instance_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.job_claims
    ADD CONSTRAINT job_claims_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.job_lanes
    ADD CONSTRAINT job_lanes_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.job_lines
    ADD CONSTRAINT job_lines_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.keys
    ADD CONSTRAINT keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.login_traces
    ADD CONSTRAINT login_traces_tenant_id_server_fkey FOREIGN KEY (tenant_id, server) REFERENCES public.servers(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.login_traces
    ADD CONSTRAINT login_traces_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.logins
    ADD CONSTRAINT logins_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.models
    ADD CONSTRAINT models_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.published_agents
    ADD CONSTRAINT published_agents_tenant_id_name_fkey FOREIGN KEY (tenant_id, name) REFERENCES public.agents(tenant_id, name) ON DELETE CASCADE;
ALTER TABLE ONLY public.removed_servers
    ADD CONSTRAINT removed_servers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.ring_keys
    ADD CONSTRAINT ring_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.secrets
    ADD CONSTRAINT secrets_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.seen_servers
    ADD CONSTRAINT seen_servers_tenant_id_id_fkey FOREIGN KEY (tenant_id, id) REFERENCES public.servers(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.servers
    ADD CONSTRAINT servers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.settings
    ADD CONSTRAINT settings_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.sources
    ADD CONSTRAINT sources_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_tenant_id_server_fkey FOREIGN KEY (tenant_id, server) REFERENCES public.servers(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.tool_changes
    ADD CONSTRAINT tool_changes_tenant_id_server_fkey FOREIGN KEY (tenant_id, server) REFERENCES public.servers(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.tool_suggestions
    ADD CONSTRAINT tool_suggestions_tenant_id_server_fkey FOREIGN KEY (tenant_id, server) REFERENCES public.servers(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.tool_tags
    ADD CONSTRAINT tool_tags_tenant_id_server_fkey FOREIGN KEY (tenant_id, server) REFERENCES public.servers(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.triggers
    ADD CONSTRAINT triggers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.used_states
    ADD CONSTRAINT used_states_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.user_links
    ADD CONSTRAINT user_links_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES public.users(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
ALTER TABLE ONLY public.workspace_approvals
    ADD CONSTRAINT workspace_approvals_tenant_id_workspace_id_fkey FOREIGN KEY (tenant_id, workspace_id) REFERENCES public.workspaces(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_members
    ADD CONSTRAINT workspace_members_tenant_id_workspace_id_fkey FOREIGN KEY (tenant_id, workspace_id) REFERENCES public.workspaces(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_messages
    ADD CONSTRAINT workspace_messages_tenant_id_workspace_id_fkey FOREIGN KEY (tenant_id, workspace_id) REFERENCES public.workspaces(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_runs
    ADD CONSTRAINT workspace_runs_tenant_id_workspace_id_fkey FOREIGN KEY (tenant_id, workspace_id) REFERENCES public.workspaces(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspaces
    ADD CONSTRAINT workspaces_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(tenant_id);
