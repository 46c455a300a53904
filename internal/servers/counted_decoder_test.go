package servers

import (
	"bytes"
	"context"
	"encoding/gob"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/limit"
)

// brokenOff gives some bytes, then calls look, and then fails.
type brokenOff struct {
	io.Reader
	look func()
}

func (b *brokenOff) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		b.look()
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// What another replica asks for counts while it is read.
func TestReplicaRequestsAreCounted(t *testing.T) {
	t.Parallel()
	s := &Registry{o: Options{MaxResult: 32 << 20, Bytes: limit.NewByteBudget(limit.ByteBudgetOptions{Total: 64 << 20, PerParty: 32 << 20})}}
	var message bytes.Buffer
	if err := gob.NewEncoder(&message).Encode(replicaRequest{What: errandDo, Request: forwardedRequest{Params: make([]byte, 8<<20)}}); err != nil {
		t.Fatal(err)
	}
	var used int64
	body := &brokenOff{bytes.NewReader(message.Bytes()[:6<<20]), func() { used = s.o.Bytes.UsedBytes() }}
	w := httptest.NewRecorder()
	s.ServeReplica(w, httptest.NewRequestWithContext(t.Context(), "POST", ReplicaPath, body))
	if used < 12<<20 {
		t.Errorf("%d bytes are counted while 6 MiB of a request are read", used)
	}
	if left := s.o.Bytes.UsedBytes(); left != 0 {
		t.Errorf("%d bytes are counted afterwards", left)
	}
}

// One caller's share bounds what is read of another replica; what is kept counts
// on, and the rest does not.
func TestDecoderKeepsToTheBudget(t *testing.T) {
	t.Parallel()
	who, other := limit.Party{Subject: "ann"}, limit.Party{Subject: "bob"}
	const most = 4 << 20
	budget := limit.NewByteBudget(limit.ByteBudgetOptions{Total: 256 << 20, PerParty: 2*most + 1<<20}) // the least that a caller has by default
	var message bytes.Buffer
	if err := gob.NewEncoder(&message).Encode(replicaReply{Done: true, Result: catalog.Result{Body: make([]byte, most)}}); err != nil {
		t.Fatal(err)
	}
	var got replicaReply
	d := newCountedDecoder(t.Context(), budget, who, bytes.NewReader(message.Bytes()), 4*most)
	if err := d.Decode(&got); err != nil { // the largest result fits into the least share
		t.Fatal(err)
	}
	d.releaseMessage(got.Result.Body)
	if used := budget.UsedBytes(); used < most || used > most+most/4 {
		t.Errorf("%d bytes are counted for a result of %d", used, most)
	}
	release, err := budget.ReserveBytes(t.Context(), other, 2*most)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	full := newCountedDecoder(ctx, budget, other, bytes.NewReader(message.Bytes()), 4*most)
	if err := full.Decode(&replicaReply{}); err == nil || junctor.CodeOf(full.in.refused) != junctor.CodeLimited {
		t.Errorf("more than the caller's share: %v, %v", err, full.in.refused)
	}
	if e := junctor.AsError(noRoomError(full.in.refused)); e.Code != junctor.CodeTooLarge {
		t.Errorf("the caller is told %s", e.Code)
	}
	full.releaseMessage()
	release()
	if len(got.Result.Body) != most {
		t.Error("the result is not whole")
	}
}

func TestPartyArrives(t *testing.T) {
	t.Parallel()
	who := limit.Party{Tenant: "acme", Issuer: "https://id.example", Subject: "änn\n"}
	if got := parseParty(partyText(who)); got != who {
		t.Errorf("%+v", got)
	}
	for _, text := range []string{"", "!", "e30x"} {
		if got := parseParty(text); got.Issuer != issuerReplicas {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
