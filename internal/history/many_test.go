package history_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
)

// rareEvery is how many calls there are for each of the rare tool.
const rareEvery = 150_000

// fillCalls inserts many calls in one statement per engine, and makes the indexes
// afterwards as their migration does. It returns how long that took.
func fillCalls(t *testing.T, engine string, db store.Database, calls int) (indexing time.Duration) {
	t.Helper()
	migration, err := os.ReadFile(filepath.Join("..", "store", engine, "history", "00057_search.sql"))
	ok(t, err)
	run := func(statement string) {
		if _, err := db.Write.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	indexes := regexp.MustCompile(`CREATE INDEX (\w+) [^;]*`).FindAllStringSubmatch(string(migration), -1)
	for _, index := range indexes {
		run("DROP INDEX " + index[1])
	}
	// Both engines know these functions; i counts the calls.
	columns := map[string]string{
		"tenant_id": "'acme'", "id": "'id' || substr('0000000000' || i, -10)", "at": "1760000000000000 + CAST(i AS BIGINT) * 100000", "kind": "'tool'", "entry_point": "'mcp'",
		"server": "'server' || (i % 7)", "name": fmt.Sprintf("CASE WHEN i %% %d = 5 THEN 'rare' ELSE 'tool' || (i %% 20) END", rareEvery), "version": "'1'", "issuer": "'key'", "subject": "'k' || (i % 50)",
		"user_id": "''", "agent": "CASE i % 4 WHEN 0 THEN 'agent' || (i % 10) ELSE '' END", "view_id": "''", "room_id": "''",
		"status": "CASE WHEN i % 100 < 95 THEN 'success' WHEN i % 100 < 99 THEN 'error' ELSE 'denied' END", "code": "''", "reason": "''", "attempts": "''",
		"duration": "1500", "bytes_in": "60", "bytes_out": "250", "admitted": "10", "connected": "20", "answered": "1400",
		"params": `'{"arguments":{"city":"Zürich","number":' || i || ',"text":"one of many calls with words that a search has to read"}}'`,
		"result": `'{"content":[{"type":"text","text":"the answer of call ' || i || CASE WHEN i < 3 THEN ' has the NÄDEL' ELSE ' has nothing of interest' END || ', and some more text so that it has the length of an ordinary answer of a tool"}],"isError":false}'`,
	}
	names, values := make([]string, 0, len(columns)), make([]string, 0, len(columns))
	for name, value := range columns {
		if engine == "postgres" {
			value = strings.ReplaceAll(value, "substr('0000000000' || i, -10)", "lpad(i::text, 10, '0')")
		}
		names, values = append(names, name), append(values, value)
	}
	for from := 0; from < calls; from += 250_000 {
		source := fmt.Sprintf("generate_series(%d, %d) AS n(i)", from, min(from+250_000, calls)-1)
		if engine == "sqlite" {
			source = fmt.Sprintf("(WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n)", from, min(from+250_000, calls)-1)
		}
		run("INSERT INTO history_calls (" + strings.Join(names, ", ") + ") SELECT " + strings.Join(values, ", ") + " FROM " + source)
	}
	begin := time.Now()
	for _, index := range indexes {
		run(index[0])
	}
	indexing = time.Since(begin)
	if engine == "postgres" { // as autovacuum does some time after such an insert
		run("ANALYZE history_calls")
	}
	return indexing
}

// TestManyCalls reads pages of a long history while eight searches for a text run all the
// time. The long form has three million calls, and is bound to the times that a reader
// notices; the short one shows that every page is right.
func TestManyCalls(t *testing.T) {
	calls, samples := 60_000, 3
	long := os.Getenv("JUNCTOR_PROVE") != ""
	if long {
		calls, samples = 3_000_000, 60
	}
	open := map[string]func(t *testing.T) (store.Database, error){
		"sqlite": func(t *testing.T) (store.Database, error) {
			t.Helper()
			return sqlite.OpenHistory(t.Context(), filepath.Join(t.TempDir(), "history.db"))
		},
		"postgres": func(t *testing.T) (store.Database, error) {
			t.Helper()
			return postgres.OpenHistory(t.Context(), server.Database(t))
		},
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			db, err := open[engine](t)
			h := start(t, db, err, history.Options{})
			indexing := fillCalls(t, engine, db, calls)
			access := junctor.AllCalls("acme")
			tenth := calls / 10
			reads := []struct {
				name   string
				filter history.Filter
				want   int
				most   time.Duration
			}{
				{"newest page", history.Filter{}, 100, 100 * time.Millisecond},
				{"rare tool", history.Filter{Tool: "rare"}, (calls + rareEvery - 6) / rareEvery, 300 * time.Millisecond},
				{"rare tool by its exposed name", history.Filter{Tool: "server5__rare"}, rareOf(calls, 5), 300 * time.Millisecond},
				{"denied calls of an agent's tool", history.Filter{Status: junctor.StatusDenied, Tool: "tool19"}, 100, 300 * time.Millisecond},
				{"agent", history.Filter{Agent: "agent4"}, 100, 300 * time.Millisecond},
				{"caller, a tenth of the time", history.Filter{Caller: "k7", Until: time.UnixMicro(1760000000000000 + int64(tenth)*100000)}, 100, 300 * time.Millisecond},
			}
			measure := func(i, times int) []time.Duration {
				took := make([]time.Duration, times)
				for n := range took {
					f := reads[i].filter
					f.WithoutPayloads = true
					begin := time.Now()
					page, err := h.Query(t.Context(), access, f)
					ok(t, err)
					total, err := h.Count(t.Context(), access, f) // the API answers with both
					took[n] = time.Since(begin)
					if total.Rows < len(page.Calls) && !total.AtLeast || page.Next == "" && total.Rows != len(page.Calls) || i == 0 && total != (junctor.RowTotal{Rows: junctor.MaxCounted, AtLeast: true}) {
						t.Fatalf("%s: the total is %+v", reads[i].name, total)
					}
					if err != nil || len(page.Calls) != reads[i].want || !page.SearchedTo.IsZero() {
						t.Fatalf("%s: %d calls, want %d; searched to %v; %v", reads[i].name, len(page.Calls), reads[i].want, page.SearchedTo, err)
					}
				}
				slices.Sort(took)
				return took
			}
			alone := make([]time.Duration, len(reads))
			for i := range reads {
				alone[i] = measure(i, 10)[5]
			}
			search := func(ctx context.Context) (answers, found int, err error) {
				for f := (history.Filter{Text: "nädel", WithoutPayloads: true}); ; {
					page, err := h.Query(ctx, access, f)
					if err != nil {
						return answers, found, err
					}
					answers, found = answers+1, found+len(page.Calls)
					if f.Cursor = page.Next; f.Cursor == "" {
						return answers, found, nil
					}
				}
			}
			begin := time.Now()
			answers, found, err := search(t.Context())
			if err != nil || found != 3 {
				t.Fatalf("the text was found %d times, %v", found, err)
			}
			t.Logf("figure: %s: %d calls, indexed in %.0f s: a text beyond ASCII that only the oldest three have is found in %.1f s, in %d answers", engine, calls, indexing.Seconds(), time.Since(begin).Seconds(), answers)
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			var searched atomic.Int64
			for range 8 {
				wg.Go(func() {
					for ctx.Err() == nil {
						n, _, err := search(ctx)
						if searched.Add(int64(n)); err != nil && ctx.Err() == nil {
							t.Errorf("a search: %v", err)
							return
						}
					}
				})
			}
			begin = time.Now()
			for i := range reads {
				took := measure(i, samples)
				p95 := took[len(took)*95/100]
				t.Logf("figure: %s: %d calls, eight searches running: %s p50 %.1f ms, p95 %.1f ms, max %.1f ms; alone p50 %.1f ms",
					engine, calls, reads[i].name, milliseconds(took[len(took)/2]), milliseconds(p95), milliseconds(took[len(took)-1]), milliseconds(alone[i]))
				if long && p95 > reads[i].most {
					t.Errorf("%s: p95 %s, at most %s", reads[i].name, p95, reads[i].most)
				}
			}
			cancel()
			wg.Wait()
			t.Logf("figure: %s: the searches gave %.1f answers/s meanwhile", engine, float64(searched.Load())/time.Since(begin).Seconds())
		})
	}
}

// rareOf counts the calls of the rare tool on one server.
func rareOf(calls, server int) (n int) {
	for i := 5; i < calls; i += rareEvery {
		if i%7 == server {
			n++
		}
	}
	return n
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
