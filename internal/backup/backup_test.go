package backup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/backup"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"

	"github.com/google/go-cmp/cmp"
)

var server pgtest.Pool

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// instance is where an instance keeps things, on one engine.
type instance struct {
	engine string
	data   string // folder
	url    string // with postgres
}

// engines gives a function that makes empty instances, for each engine.
func engines() map[string]func(t testing.TB) instance {
	return map[string]func(t testing.TB) instance{
		"sqlite": func(t testing.TB) instance {
			t.Helper()
			return instance{engine: "sqlite", data: t.TempDir()}
		},
		"postgres": func(t testing.TB) instance {
			t.Helper()
			return instance{engine: "postgres", data: t.TempDir(), url: server.Database(t)}
		},
	}
}

func (in instance) raw(t testing.TB) (main, hist *store.Raw) {
	t.Helper()
	var err, errHist error
	if in.engine == "postgres" {
		main, err = postgres.Raw(t.Context(), in.url)
		hist, errHist = postgres.RawHistory(t.Context(), in.url)
	} else {
		main, err = sqlite.Raw(t.Context(), filepath.Join(in.data, "junctor.db"))
		hist, errHist = sqlite.RawHistory(t.Context(), filepath.Join(in.data, "history.db"))
	}
	ok(t, err)
	ok(t, errHist)
	t.Cleanup(func() { _, _ = main.Close(), hist.Close() })
	return main, hist
}

func (in instance) store(t testing.TB) *store.Store {
	t.Helper()
	var st *store.Store
	var err error
	if in.engine == "postgres" {
		st, err = postgres.Open(t.Context(), in.url)
	} else {
		st, err = sqlite.Open(t.Context(), filepath.Join(in.data, "junctor.db"))
	}
	ok(t, err)
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func (in instance) history(t testing.TB) *history.History {
	t.Helper()
	var db store.Database
	var err error
	if in.engine == "postgres" {
		db, err = postgres.OpenHistory(t.Context(), in.url)
	} else {
		db, err = sqlite.OpenHistory(t.Context(), filepath.Join(in.data, "history.db"))
	}
	ok(t, err)
	h, err := history.New(history.Options{Write: db.Write, Read: db.Read, Dialect: db.Dialect, Logger: slog.New(slog.DiscardHandler)})
	ok(t, err)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

func (in instance) backup(t testing.TB) ([]byte, backup.Manifest) {
	t.Helper()
	main, hist := in.raw(t)
	var out bytes.Buffer
	m, err := backup.Create(t.Context(), &out, backup.Options{
		Version: "1.2.3", Engine: in.engine, Databases: map[string]backup.Source{"store": main, "history": hist},
		Folders: []backup.Folder{
			{Name: "journal", Path: filepath.Join(in.data, "journal"), CompleteLinesOnly: true},
			{Name: "heads", Path: filepath.Join(in.data, "heads"), BeforeDatabases: true},
		},
		TempDir: t.TempDir(), Now: func() time.Time { return time.Date(2026, 5, 4, 3, 2, 1, 5, time.UTC) },
	})
	ok(t, err)
	return out.Bytes(), m
}

func (in instance) restore(t testing.TB, archive []byte) error {
	t.Helper()
	main, hist := in.raw(t)
	_, err := backup.Restore(t.Context(), bytes.NewReader(archive), backup.RestoreOptions{
		Databases: map[string]backup.Target{"store": main, "history": hist},
		Folders:   map[string]string{"journal": filepath.Join(in.data, "journal"), "heads": filepath.Join(in.data, "heads")},
		TempDir:   t.TempDir(), Unverified: true,
	})
	return err
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v (cause %v)", err, junctor.AsError(err).Cause)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	ok(t, os.MkdirAll(filepath.Dir(path), 0o700))
	ok(t, os.WriteFile(path, []byte(text), 0o600))
}

// populate puts something into every table and folder.
func populate(t testing.TB, in instance) {
	t.Helper()
	ctx, st := t.Context(), in.store(t)
	ok(t, st.EnsureTenant(ctx, "acme", "Acme, é \u2028 <&>"))
	_, err := st.Instance(ctx)
	ok(t, err)
	_, err = st.SeeReplica(ctx, store.Replica{ID: "run", Name: "replica", URL: "http://127.0.0.1:1", Version: "1"})
	ok(t, err)
	_, _, err = st.TakeLease(ctx, "schedules", "run", time.Second)
	ok(t, err)
	acme := st.For("acme")
	_, err = acme.Home(ctx, "server:x", "run", time.Second)
	ok(t, err)
	k := junctor.Key{ID: "k", Name: "one", Prefix: "jct_x", CreatedAt: time.UnixMicro(1<<53 + 1)} // more than a float holds
	k.Hash[0], k.Hash[31] = 0xff, 1
	ok(t, acme.CreateKey(ctx, k))
	for _, id := range []string{"demo", "gone"} {
		ok(t, acme.EnsureBuiltin(ctx, id, id))
	}
	ok(t, acme.RemoveServer(ctx, "gone"))
	ok(t, acme.PutSetting(ctx, "a", json.RawMessage("{\"b\":\t[1]}")))
	ok(t, acme.SaveSession(ctx, store.Session{ID: "s", Issuer: "i", Subject: "s", Capabilities: []byte{}, ExpiresAt: time.UnixMicro(5)}))
	ok(t, acme.RevokeSession(ctx, "r", time.UnixMicro(6)))
	_, err = acme.UseState(ctx, "u", time.UnixMicro(7))
	ok(t, err)
	ok(t, st.AddRingKey(ctx, store.RingKey{ID: "r", CreatedAt: time.UnixMicro(8), Wrapped: []byte("\x00\xffwrapped")}))
	_, err = acme.AddServer(ctx, admission.Stored(junctor.Server{Tenant: "acme", ID: "notes", Mode: junctor.ModeBYO, Connection: junctor.Connection{URL: "https://example.com"}}))
	ok(t, err)
	ok(t, acme.SawServer(ctx, "notes", store.SeenServer{Offer: []byte("\x00seen"), Isolated: "it asked", At: time.UnixMicro(7)}))
	ok(t, acme.PutDocument(ctx, "notes", junctor.APIDocument{Text: []byte("\x00text"), ETag: "e", Tools: []byte("[]"), FetchedAt: time.UnixMicro(6)}))
	ok(t, acme.AddTask(ctx, junctor.Task{ID: "t", Issuer: "i", Subject: "s", Server: "notes", Tool: "slow", Own: "o", State: []byte("\x00state"), Created: time.UnixMicro(8), Expires: time.UnixMicro(9)}))
	ok(t, acme.PutSecret(ctx, store.Secret{SecretName: store.SecretName{Owner: "o", Name: "n"}, KeyID: "k", Wrapped: []byte("w"), Ciphertext: []byte{0, 1}}))
	ok(t, acme.CreateUser(ctx, junctor.User{ID: "u", Name: "zoë", Role: junctor.UserViewer, Sources: junctor.SourcesBoth, CreatedAt: time.UnixMicro(1), UpdatedAt: time.UnixMicro(2)}))
	ok(t, acme.AddClient(ctx, junctor.Client{ID: "c", Name: "é", Redirects: []string{"https://example.com/back"}, CreatedAt: time.UnixMicro(4)}, 10))
	_, err = acme.Allow(ctx, junctor.Consent{ID: "x", User: "u", Client: "c", Resource: "https://example.com/mcp", CreatedAt: time.UnixMicro(5), UpdatedAt: time.UnixMicro(5)},
		store.ConsentToken{Hash: k.Hash, Kind: "code", Consent: "x", Family: "f", CreatedAt: time.UnixMicro(5), ExpiresAt: time.UnixMicro(6)})
	ok(t, err)
	ok(t, acme.AddTrace(ctx, junctor.Trace{ID: "x", Server: "notes", User: "u", What: junctor.TraceBegin, At: time.UnixMicro(5), Verdict: "é"}))
	ok(t, acme.LinkUser(ctx, "u", "https://idp.example.com", "zoë", time.UnixMicro(3)))
	ok(t, acme.AddLogin(ctx, junctor.Login{ID: "l", User: "u", How: junctor.LoginPassword, Hash: k.Hash, CreatedAt: time.UnixMicro(3), ExpiresAt: time.UnixMicro(4)}))
	ok(t, st.Together(ctx, func(on store.Statements) error {
		_, _, err := acme.AddEvent(ctx, on, &junctor.Event{ID: "e", Source: "github", Type: "push", DedupeKey: "k", Data: []byte("\x00data"), Faults: []string{"é"}, ReceivedAt: time.UnixMicro(5)})
		return err
	}))
	main, _ := in.raw(t)
	for _, row := range []string{
		`INSERT INTO agents VALUES ('acme', 'qa', 'QA', '', 'user:u', 0, '{"title":"é"}', 1, 2, 'user:u')`,
		`INSERT INTO models VALUES ('acme', 'small', 'openai', '', 'é', 1, 1, 2, 'user:é')`,
		`INSERT INTO agent_grants VALUES ('acme', 'qa', 'tool', 'notes', '*')`,
		`INSERT INTO component_catalogs VALUES ('acme', 'fleet', '{"a":"é"}', 1, 2, 'user:é')`,
		`INSERT INTO tool_tags VALUES ('acme', 'notes', 'search', '["QA"]', '', 'user:u', 3)`,
		`INSERT INTO tool_suggestions VALUES ('acme', 'notes', 'search', 's', '{"name":"é"}', 'small', 4)`,
		`INSERT INTO tool_changes VALUES ('acme', 'c', 'notes', 'search', '', 'd', NULL, NULL, 4)`,
		`INSERT INTO app_approvals VALUES ('acme', 'notes', 'ui://é', 'd', 'user:u', 5)`,
		`INSERT INTO day_counts VALUES ('acme', 'user:u', 20000, 5)`,
		`INSERT INTO triggers VALUES ('acme', 't', '{"title":"é"}', 0, '', 1, 2, 'user:é')`,
		`INSERT INTO event_waits VALUES ('acme', 't', '42', 'e', 5)`,
		`INSERT INTO sources VALUES ('github', 'acme', '{"style":"github"}', 0, '', 1, 2, 'user:é')`,
		`INSERT INTO schedules VALUES ('acme', 's', '{"cron":"@daily"}', 0, '', 5, NULL, 1, 2, 'user:é')`,
		`INSERT INTO jobs VALUES ('acme', 'j', 'deliveries', 'acme x', 'k', 1, 1, NULL, 'e', 't', 'a', 'tool', '{"é":1}', 'ready', '', 2, 3, 0, '', 0, 1, 0, 0, 0, 'é', 4, NULL, '{"n":1}')`,
		`INSERT INTO job_claims VALUES ('acme', 'c', 'deliveries', 'é', 5, '{"j":3}')`,
		`INSERT INTO job_lines VALUES ('acme', 'deliveries', 'k', 1)`,
		`INSERT INTO job_lanes VALUES ('acme', 'deliveries', 'acme x', 'open', 5, 1, 'é', 6)`,
		`INSERT INTO agent_endpoints VALUES ('acme', '42', 'https://example.com', 'https://example.com/mcp', 'http', 'X-Agent-Token', 0, 1, 1, 2, 'é', 'file:/é', 'user:é')`,
		`INSERT INTO rooms VALUES ('acme', 'room', 'é', '{"policy":"all"}', 'user:u', 1, 2, 'user:é')`,
		`INSERT INTO room_members VALUES ('acme', 'room', 'agent', 'qa', 0)`,
		`INSERT INTO room_messages VALUES ('acme', 'room', 'm', 1, 'r', 'user', 'zoë', 'user:u', '{"text":"é"}', 'é', 3)`,
		`INSERT INTO room_runs VALUES ('acme', 'room', 'r', 'waiting', 'user:u', 'n', 'é', '{}', 0, 1, 2, 3, 4, NULL)`,
		`INSERT INTO room_approvals VALUES ('acme', 'room', 'a', 'r', 'qa', '{"é":1}', 'open', 0, '', 5, NULL, 'é')`,
		`INSERT INTO published_agents VALUES ('qa', 'acme', 1)`,
		`INSERT INTO agent_tasks VALUES ('acme', 't', 'qa', 'user:u', 'c', 'TASK_STATE_COMPLETED', 0, 2, '{"é":1}', '[]', 'n', 0, 1, 2, 3)`,
		`INSERT INTO agent_task_pushes VALUES ('acme', 't', 'p', '{"url":"https://example.com/é"}')`,
		`INSERT INTO chain_blocks VALUES ('acme', 1, 7, '0xab', '0xaa', 5)`,
		`INSERT INTO chain_events VALUES ('acme', 1, '0xab', 2, 7, 'NewFeedback', 'eip155:1:0xa/42', '{"é":1}', 'counted', 1, 0, 6)`,
		`INSERT INTO series VALUES ('acme', 60, 120, 'tool', 'notes', 'é', 1, 0, 0, 0, 0, 0, 0, 5, 6, 7, 'sketch', 8, 9)`,
		`INSERT INTO series_positions VALUES ('a', 300, '')`,
		`INSERT INTO usage_days VALUES ('acme', 20000, 'notes', 'é', 'mcp', 'key', 'k1', '', '', 1, 0, 0, 0, 0, 0, 0, 5, 6, 7, 'sketch')`,
		`INSERT INTO attention_items VALUES ('acme', 'i', 'shared', 'servers', 'user:é', 'notes', '{"problem":"é"}', 5)`,
		`INSERT INTO attention_checks VALUES ('shared', 5, '')`,
		`INSERT INTO disk_samples VALUES ('a', 5, 6, '')`,
		`INSERT INTO admin_changes VALUES ('acme', 'c', 'a', 3, 5, 'done', 'api', '::1', 'user', 'u', 'é', 'u', '', 'patch-server', 'server', 'notes', '{"é":1}', '')`,
	} {
		_, err := main.Write.ExecContext(ctx, row)
		ok(t, err)
	}
	var records []store.AuditRecord
	for n := range 300 {
		records = append(records, store.AuditRecord{Replica: "a", Seq: uint64(n) + 1, Hash: "h", Line: `{"z":1,"a":"` + strings.Repeat("x", n) + `"}`})
	}
	ok(t, st.KeepAuditHead(t.Context(), "a", 1, `{"replica":"a","seq":1}`, false))
	ok(t, st.AddAudit(ctx, records))
	h := in.history(t)
	for n := range 700 {
		c := junctor.Call{ID: fmt.Sprint("c", n), Tenant: "acme", Kind: junctor.KindTool, Server: "demo", Name: "echo", Subject: "ann", Status: junctor.StatusSuccess, Start: time.UnixMicro(int64(n))}
		c.Facts.Groups, c.Policy = []string{fmt.Sprint("group ", n)}, []junctor.PolicyHit{{Rule: "audited", Value: "true", Changed: n}}
		h.Record(&c, []byte(`{"a":"b\u0000"}`), nil)
	}
	ok(t, h.Flush(ctx))
	write(t, filepath.Join(in.data, "journal", "00000000000000000001.log"), "one\ntwo\n")
	write(t, filepath.Join(in.data, "journal", "00000000000000000003.log"), "three\nhalf a rec")
	write(t, filepath.Join(in.data, "journal", "lock"), "")
	write(t, filepath.Join(in.data, "heads", "a.json"), `{"seq":3}`)
	write(t, filepath.Join(in.data, "heads", "signing.key"), "canary of the signing key")
	write(t, filepath.Join(in.data, "heads", ".new-1"), "half")
	write(t, filepath.Join(in.data, "seal.key"), "canary of the wrapping key")
}

func hashes(m backup.Manifest) map[string]string {
	all := map[string]string{}
	for _, member := range m.Members {
		all[member.Name] = fmt.Sprint(member.SHA256, " ", member.Rows)
	}
	return all
}

// What is restored, into whichever engine, equals what was backed up.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for from, makeFrom := range engines() {
		for to, makeTo := range engines() {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				source, target := makeFrom(t), makeTo(t)
				populate(t, source)
				nouns := storetest.WriteNouns(t, source.store(t))
				archive, m := source.backup(t)
				names := slices.Sorted(maps.Keys(hashes(m)))
				if len(names) < 36 || !slices.Contains(names, "store/secrets.jsonl") || !slices.Contains(names, "history/history_usage.jsonl") {
					t.Fatalf("members %v", names)
				}
				for _, member := range m.Members {
					if strings.HasSuffix(member.Name, ".jsonl") && member.Rows == 0 {
						t.Errorf("%s is empty: the test shows nothing for it", member.Name)
					}
				}
				write(t, filepath.Join(target.data, "heads", "signing.key"), "put there by hand")
				ok(t, target.restore(t, archive))
				_, again := target.backup(t)
				if diff := cmp.Diff(hashes(m), hashes(again)); diff != "" {
					t.Errorf("restored is another (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(m.Schemas, again.Schemas); diff != "" {
					t.Errorf("schemas (-want +got):\n%s", diff)
				}
				if text, err := os.ReadFile(filepath.Join(target.data, "journal", "00000000000000000003.log")); err != nil || string(text) != "three\n" {
					t.Errorf("the journal: %q, %v", text, err)
				}
				if diff := cmp.Diff(nouns, storetest.ReadNouns(t, target.store(t))); diff != "" {
					t.Errorf("fields of nouns are not restored (-want +got):\n%s", diff)
				}
				// It works as an instance does.
				ok(t, target.store(t).For("acme").PutSetting(t.Context(), "b", json.RawMessage(`1`)))
				if page, err := target.history(t).Query(t.Context(), junctor.AllCalls("acme"), history.Filter{Limit: 1000}); err != nil || len(page.Calls) != 700 {
					t.Errorf("%d calls, %v", len(page.Calls), err)
				} else if e := page.Calls[0]; !e.HasFacts || !slices.Equal(e.Facts.Groups, []string{"group 699"}) || len(e.Policy) != 1 || e.Policy[0].Changed != 699 {
					t.Errorf("what rules read and did: %+v, %+v", e.Facts, e.Policy)
				}
				// And is no longer empty.
				if err := target.restore(t, archive); junctor.CodeOf(err) != junctor.CodeConflict {
					t.Errorf("restored twice: %v", err)
				}
			})
		}
	}
}

// A backup of an earlier schema is restored and brought up to date.
func TestEarlierSchema(t *testing.T) {
	t.Parallel()
	for from, makeFrom := range engines() {
		for to, makeTo := range engines() {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				source, target := makeFrom(t), makeTo(t)
				main, hist := source.raw(t)
				ok(t, main.MigrateTo(t.Context(), 1))
				ok(t, hist.MigrateTo(t.Context(), 1))
				_, err := main.Write.ExecContext(t.Context(), `INSERT INTO settings (tenant_id, name, value, updated_at) VALUES ('default', 'old', '1', 5)`)
				ok(t, err)
				archive, m := source.backup(t)
				if m.Schemas["store"] != 1 {
					t.Fatalf("schemas %v", m.Schemas)
				}
				ok(t, target.restore(t, archive))
				restored, _ := target.raw(t)
				if v, err := restored.Version(t.Context()); err != nil || v < 2 {
					t.Errorf("version %d, %v", v, err)
				}
				st := target.store(t)
				if set, err := st.For(junctor.DefaultTenant).Setting(t.Context(), "old"); err != nil || !set.UpdatedAt.Equal(time.UnixMicro(5)) {
					t.Errorf("%+v, %v", set, err)
				}
				ok(t, st.AddAudit(t.Context(), []store.AuditRecord{{Replica: "a", Seq: 1}}))
			})
		}
	}
}

// A backup of an instance at work is of one moment: what is changed together is
// found together.
func TestOnline(t *testing.T) {
	t.Parallel()
	for name, fresh := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, target := fresh(t), fresh(t)
			st := source.store(t)
			source.history(t)
			const servers = 40
			for n := range servers {
				ok(t, st.For(junctor.DefaultTenant).EnsureBuiltin(t.Context(), fmt.Sprint("s", n), "x"))
			}
			begun := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				for n := range servers {
					if err := st.For(junctor.DefaultTenant).RemoveServer(t.Context(), fmt.Sprint("s", n)); err != nil {
						t.Error(err)
					}
					if n == 2 {
						close(begun)
					}
				}
			})
			<-begun
			archive, _ := source.backup(t)
			wg.Wait()
			ok(t, target.restore(t, archive))
			main, _ := target.raw(t)
			var live, removed, both int
			for query, n := range map[string]*int{
				`SELECT COUNT(*) FROM servers`: &live, `SELECT COUNT(*) FROM removed_servers`: &removed,
				`SELECT COUNT(*) FROM servers s JOIN removed_servers r ON r.id = s.id`: &both,
			} {
				ok(t, main.Read.QueryRowContext(t.Context(), query).Scan(n))
			}
			if live+removed != servers || both != 0 || removed == 0 {
				t.Errorf("%d servers, %d removed, %d both", live, removed, both)
			}
		})
	}
}

func TestNothingToBackUp(t *testing.T) {
	t.Parallel()
	for name, fresh := range engines() {
		in := fresh(t)
		main, hist := in.raw(t)
		_, err := backup.Create(t.Context(), io.Discard, backup.Options{Databases: map[string]backup.Source{"store": main, "history": hist}})
		if junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
		if files, err := os.ReadDir(in.data); err != nil || len(files) != 0 {
			t.Errorf("%s: it left %v, %v", name, files, err)
		}
	}
}
