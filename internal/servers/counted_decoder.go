package servers

import (
	"context"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"errors"
	"io"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
)

// headerParty says whose bytes a request of another replica is, so that they are
// counted before it is read.
const headerParty = "Junctor-Party"

// issuerReplicas is the party of requests of replicas that do not say whose they are.
const issuerReplicas = "replicas"

// decoderStep is how much of a message of another replica is read between two looks
// at the byte budget.
const decoderStep = 256 << 10

// countedDecoder reads values that another replica sends. What gob holds of a
// message, its bytes and their copy in the value, counts while it is read.
type countedDecoder struct {
	*gob.Decoder
	in *countedReader
}

// newCountedDecoder makes a decoder that reads at most so many bytes.
func newCountedDecoder(ctx context.Context, b *limit.ByteBudget, who limit.Party, from io.Reader, most int64) *countedDecoder {
	in := &countedReader{ctx: ctx, budget: b, who: who, from: io.LimitReader(from, most)}
	return &countedDecoder{gob.NewDecoder(in), in}
}

// settle forgets the message that was read last. Those of its bytes that are kept
// count from now on until nobody holds them.
func (d *countedDecoder) settle(kept ...[]byte) {
	for _, b := range kept {
		d.in.budget.Count(d.in.who, b)
	}
	for _, release := range d.in.releases {
		release()
	}
	d.in.releases, d.in.read, d.in.room = nil, 0, 0
}

// countedReader counts twice what it reads, and before it does.
type countedReader struct {
	ctx      context.Context
	budget   *limit.ByteBudget
	who      limit.Party
	from     io.Reader
	read     int64 // of this message
	room     int64 // that is counted for it
	releases []func()
	refused  error // why nothing more is read
}

func (r *countedReader) Read(p []byte) (int, error) {
	room := max(r.room, limit.UncountedBytes)
	if r.read >= room {
		release, err := r.budget.Reserve(r.ctx, r.who, 2*decoderStep)
		if err != nil {
			r.refused = err
			return 0, err
		}
		r.releases = append(r.releases, release)
		r.room += decoderStep
		room = max(r.room, limit.UncountedBytes)
	}
	n, err := r.from.Read(p[:min(int64(len(p)), room-r.read)])
	r.read += int64(n)
	return n, err
}

// notKept is the error of an answer for which there is no room. The call was made:
// nobody may take it for one that can be made again without harm.
func notKept(err error) error {
	e, ok := errors.AsType[*junctor.Error](err)
	if !ok {
		return err
	}
	return &junctor.Error{Code: junctor.CodeTooLarge, RetryAfter: e.RetryAfter, Message: "the server answered, but the result was not read: " + e.Message}
}

// partyText is a party as the value of headerParty.
func partyText(who limit.Party) string {
	text, _ := json.Marshal(who) // three texts
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseParty reads what partyText wrote. Only channels between replicas carry it.
func parseParty(text string) limit.Party {
	var who limit.Party
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || text == "" || json.Unmarshal(plain, &who) != nil {
		return limit.Party{Issuer: issuerReplicas}
	}
	return who
}
