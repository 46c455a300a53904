package app_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/output"
)

// recording is what passed over connections. All methods may be called from any
// goroutine.
type recording struct {
	output.Buffer
	conns atomic.Int64
}

// listen serves every connection to a free address until the test ends.
func listen(t *testing.T, heard *recording, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			heard.conns.Add(1)
			t.Cleanup(func() { _ = conn.Close() })
			all.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// impostors are ways to answer at the address of a replica without its key. Each
// records all that it can read.
func impostors(t *testing.T) map[string]func(heard *recording, conn net.Conn) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS13}
	return map[string]func(*recording, net.Conn){
		"ends": func(heard *recording, conn net.Conn) {
			_ = conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			_, _ = io.Copy(heard, conn)
		},
		"accepts everything": func(heard *recording, conn net.Conn) {
			for b := make([]byte, 64<<10); ; {
				n, err := conn.Read(b)
				_, _ = heard.Write(b[:n])
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			}
		},
		// It speaks the protocol as far as that is possible without the key, and gives
		// the other side's proof back as its own.
		"reflects the proof": func(heard *recording, conn net.Conn) {
			r := bufio.NewReader(io.TeeReader(conn, heard))
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: junctor-replica\r\n\r\n")
			secure := tls.Server(conn, config)
			lines := bufio.NewReader(io.TeeReader(secure, heard))
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			_, _ = secure.Write(line)
			_, _ = io.Copy(io.Discard, lines)
		},
	}
}

// openDatabase opens the replicas' database beside them.
func openDatabase(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Who can write to the table of replicas, or listens at the address of one that
// crashed, is sent nothing of a client: no credential, no session, no body. The
// client is told that the replica cannot be reached.
func TestImpostorGetsNothing(t *testing.T) {
	t.Parallel()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	url := pg.Database(t)
	in := testkit.Start(t, testkit.Settings{"db": url})
	db := openDatabase(t, url)
	session := in.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`,
		"Accept: application/json, text/event-stream").Header.Get("Mcp-Session-Id")
	if session == "" {
		t.Fatal("no session")
	}
	const canary = "canary-of-the-body"
	n := 0
	for name, serve := range impostors(t) {
		heard := &recording{}
		address := listen(t, heard, func(conn net.Conn) { serve(heard, conn) })
		id := fmt.Sprintf("impostor%02d", n) // as long as those of replicas are
		n++
		if _, err := db.ExecContext(t.Context(), `INSERT INTO replicas (tenant_id, id, name, url, version, started_at, seen_at) VALUES ('default', $1, 'impostor', $2, 'test', 0, (extract(epoch FROM now()) * 1000000)::bigint + 600000000)`,
			id, "http://"+address); err != nil {
			t.Fatal(err)
		}
		legacy := []string{"Mcp-Session-Id: " + session, "Mcp-Protocol-Version: 2025-11-25", "Accept: application/json, text/event-stream"}
		for begun := time.Now(); heard.conns.Load() == 0; { // the list is read again after a moment
			if time.Since(begun) > time.Minute {
				t.Fatalf("%s: nobody asks it: nothing was tried", name)
			}
			for _, r := range []testkit.Reply{
				in.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":"`+id+`.1","result":{"action":"accept","content":{"name":"`+canary+`"}}}`, legacy...),
				in.Do(t, http.MethodGet, "/mcp", "", append([]string{"Last-Event-Id: s" + id + ".1-1"}, legacy...)...),
				in.Do(t, http.MethodPost, "/api/v1/views/"+id+"xyz/rpc", `{"method":"`+canary+`"}`),
			} {
				if r.Status < 400 && r.Status != http.StatusAccepted || strings.TrimSpace(r.Body) == "{}" {
					t.Errorf("%s: the answer is an impostor's: %d %s", name, r.Status, r.Body)
				}
			}
		}
		for what, secret := range map[string]string{"the credential": testkit.AdminKey, "the session": session, "the body": canary, "a header": "Authorization"} {
			if strings.Contains(heard.String(), secret) {
				t.Errorf("%s: it was sent %s", name, what)
			}
		}
	}
	if r := in.Do(t, http.MethodGet, "/metrics", ""); !strings.Contains(r.Body, "\njunctor_replica_proofs_failed ") || strings.Contains(r.Body, "\njunctor_replica_proofs_failed 0\n") {
		t.Error("the metrics do not count it")
	}
	if n := strings.Count(in.Log.String(), "the address of a replica answered without the replica's proof"); n != 1 {
		t.Errorf("the log says it %d times", n)
	}
}

// tap is a connection between replicas that somebody listens on. It goes on to
// whatever address is set.
type tap struct {
	recording // what the asking side sent
	target    string
	url       string
}

func newTap(t *testing.T) *tap {
	t.Helper()
	tp := &tap{}
	tp.url = "http://" + listen(t, &tp.recording, func(conn net.Conn) {
		to, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", tp.target)
		if err != nil {
			return
		}
		defer to.Close()
		go func() {
			_, _ = io.Copy(conn, to)
			_ = conn.Close()
		}()
		_, _ = io.Copy(io.MultiWriter(to, &tp.recording), conn)
	})
	return tp
}

// Who reads what replicas send each other over plain http learns nothing of it, and
// can have none of it done again, by the same replica or another one.
func TestTappedReplicas(t *testing.T) {
	t.Parallel()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	url, seal := pg.Database(t), filepath.Join(t.TempDir(), "seal.key")
	between := newTap(t)
	holder := testkit.Start(t, testkit.Settings{"db": url, "seal-key-file": seal, "replica-url": between.url})
	between.target = holder.App.Addr()
	asker := testkit.Start(t, testkit.Settings{"db": url, "seal-key-file": seal})
	var id string
	if err := openDatabase(t, url).QueryRowContext(t.Context(), `SELECT id FROM replicas WHERE url = $1`, between.url).Scan(&id); err != nil {
		t.Fatal(err)
	}
	const credential, canary = "canary-of-the-credential", "canary-of-the-body"
	send := func() {
		t.Helper()
		r := asker.Do(t, http.MethodPost, "/api/v1/views/"+id+"xyz/rpc", `{"method":"`+canary+`"}`, "Authorization: Bearer "+credential)
		if r.Status != http.StatusUnauthorized {
			t.Fatalf("it was not sent on: %d %s", r.Status, r.Body)
		}
	}
	// counted is how many requests the holder has judged.
	counted := func() string {
		t.Helper()
		for line := range strings.Lines(holder.Do(t, http.MethodGet, "/metrics", "").Body) {
			if n, ok := strings.CutPrefix(line, "junctor_unauthenticated_total "); ok {
				return strings.TrimSpace(n)
			}
		}
		t.Fatal("there is no such metric")
		return ""
	}
	send()
	for _, secret := range []string{credential, canary, "Authorization", "/api/v1/views"} {
		if strings.Contains(between.String(), secret) {
			t.Errorf("the wire shows %q", secret)
		}
	}
	if got := counted(); got != "1" {
		t.Fatalf("the holder judged %s requests", got)
	}
	captured := between.String()
	for name, address := range map[string]string{"the same replica": holder.App.Addr(), "another replica": asker.App.Addr()} {
		before := counted()
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = io.WriteString(conn, captured)
		answer, _ := io.ReadAll(conn) // until it is closed
		_ = conn.Close()
		if bytes.Contains(answer, []byte("401")) || counted() != before {
			t.Errorf("%s did again what was recorded: %.200q", name, answer)
		}
	}

	// Connections are used again: what is warm proves nothing anew.
	had := between.conns.Load()
	for range 50 {
		send()
	}
	if n := between.conns.Load() - had; n > 0 {
		t.Errorf("50 requests, one after another, made %d connections", n)
	}
}

// Paths that replicas have for each other answer strangers as paths do that are
// not there.
func TestReplicaPathsAreHidden(t *testing.T) {
	t.Parallel()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	in := testkit.Start(t, testkit.Settings{"db": pg.Database(t)})
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		ask := func(path string) string {
			r := in.Do(t, method, path, "x", "Junctor-Replica: x", "Connection: Upgrade", "Upgrade: junctor-replica")
			r.Header.Del("Date")
			return fmt.Sprint(r.Status, r.Header, r.Body)
		}
		want := ask("/replica/nothing")
		for _, path := range []string{"/replica/state", "/replica/message", "/replica/request", "/replica/view/a/x", "/replica/channel"} {
			if got := ask(path); got != want {
				t.Errorf("%s %s: %s\nand what is not there: %s", method, path, got, want)
			}
		}
	}
}
