package audit

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// VerifyOptions say what a chain is compared with.
type VerifyOptions struct {
	// Default: heads beside the journal's folder.
	HeadsDir string
	// Default: the replica that the first record names.
	Replica string
	// A key that was kept elsewhere; default: the one in HeadsDir.
	Key ed25519.PublicKey
	// Signed heads that were kept elsewhere, such as in an export.
	Heads []Head
	// The replica's signed files are on another machine; Heads are checked only if
	// Key is set.
	RemoteReplica bool
	// What a Witness knows of the replica; Verify compares the journal with it.
	Known KnownChain
	// For VerifyRecords: the journal's folder to compare with; "" for none.
	Dir string

	// Progress is called from time to time; it may be nil. If retention moves the
	// beginning of the journal meanwhile, the figures start again.
	Progress func(Progress)
}

// Progress is how far a verification is.
type Progress struct {
	Records uint64 `json:"records"`
	Bytes   int64  `json:"bytes"`
	// Bytes of the journal when the verification began.
	Total int64 `json:"total"`
}

// progressEvery is how many records are read between two calls of
// VerifyOptions.Progress.
const progressEvery = 4096

// Report is the result of a verification. OK is true only if FirstBad is nil and
// BadChanges is empty. Notes
// mention events that do not make a chain invalid.
type Report struct {
	Replica string `json:"replica"`
	Records uint64 `json:"records"`
	First   uint64 `json:"first"`
	Last    uint64 `json:"last"`
	OK      bool   `json:"ok"`
	// The first record that is not valid.
	FirstBad *BadRecord `json:"bad,omitempty"`
	Notes    []string   `json:"notes,omitempty"`
	// How many changes were compared with their records, and those that differ.
	Changes    uint64      `json:"changes"`
	BadChanges []BadChange `json:"bad_changes,omitempty"`
}

// Faults returns what is wrong, a sentence for each fault. It is empty for a report that is OK.
func (r *Report) Faults() (faults []string) {
	if r.FirstBad != nil {
		faults = append(faults, r.FirstBad.String())
	}
	for i := range r.BadChanges {
		faults = append(faults, r.BadChanges[i].String())
	}
	return faults
}

const maxNotes = 20 // a broken clock could produce thousands

// addNote adds a note, up to maxNotes of them.
func (r *Report) addNote(format string, args ...any) {
	switch {
	case len(r.Notes) < maxNotes:
		r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
	case len(r.Notes) == maxNotes:
		r.Notes = append(r.Notes, "further notes are left out")
	}
}

// Verify reads the journal in dir from its beginning and compares it with its
// checkpoints and heads. The error says that the journal could not be read; what
// is wrong with it is in Report.FirstBad. Verify works while the journal is being
// written.
func Verify(ctx context.Context, dir string, o VerifyOptions) (Report, error) {
	for try := 0; ; try++ {
		r, err := verifyOnce(ctx, dir, o)
		// Retention may remove a segment while the others are read.
		if (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNewCheckpoint)) && try < 3 {
			continue
		}
		if errors.Is(err, errNewCheckpoint) {
			err = nil // after the last try the report is final
		}
		if err != nil && ctx.Err() == nil {
			err = readError(dir, err)
		}
		return r, err
	}
}

// errNewCheckpoint means that retention signed a checkpoint after the others were
// read. It may cover the records that seem to be missing.
var errNewCheckpoint = errors.New("there is a newer checkpoint")

// signedProofs are the signed statements about a replica's chain.
type signedProofs struct {
	dir            string
	replica        string
	key            ed25519.PublicKey
	head           *Head
	headErr        error
	lastCheckpoint Checkpoint // zero for none
	// Hashes that a head or checkpoint names, by number.
	hashes        map[uint64]string
	badCheckpoint *BadRecord // a checkpoint that is not valid
	// The signed files are on another machine.
	foreign bool

	known KnownChain // what a witness knows
	// Hashes that the witness knows, by number.
	knownHashes map[uint64]string
}

// readProofs reads the signed statements about a replica in dir. A missing or
// invalid head is no error here: headErr holds it until checkEnd.
func readProofs(dir, replica string, o VerifyOptions) (*signedProofs, error) {
	p := &signedProofs{dir: dir, replica: replica, key: o.Key, hashes: map[uint64]string{}, foreign: o.RemoteReplica, known: o.Known, knownHashes: o.Known.hashesBySeq()}
	if p.foreign && p.key == nil {
		return p, nil
	}
	if p.foreign {
		return p, p.addHeads(o.Heads)
	}
	if p.key == nil {
		key, err := readPublicKey(dir)
		if _, herr := os.Stat(headPath(dir, replica)); errors.Is(err, fs.ErrNotExist) && errors.Is(herr, fs.ErrNotExist) {
			p.headErr = errNoHead
			return p, nil
		}
		if err != nil {
			p.headErr = fmt.Errorf("there is no public key in %s: %w", dir, err)
			return p, nil
		}
		p.key = key
	}
	p.head, p.headErr = readHead(dir, replica, p.key)
	cps, line, err := readCheckpoints(dir, replica, p.key)
	switch {
	case line > 0:
		p.badCheckpoint = &BadRecord{Segment: filepath.Base(checkpointPath(dir, replica)), Line: line, Seq: 1, Reason: "the checkpoint is invalid: " + err.Error()}
	case err != nil:
		return nil, err
	}
	for _, c := range cps {
		p.lastCheckpoint = c
		p.hashes[c.UpTo] = c.Hash
	}
	if p.head != nil {
		p.hashes[p.head.Seq] = p.head.Hash
	}
	return p, p.addHeads(o.Heads)
}

// addHeads adds heads that were kept elsewhere. Each must be signed by the
// journal's key.
func (p *signedProofs) addHeads(heads []Head) error {
	for _, h := range heads {
		if h.Replica != p.replica || !ed25519.Verify(p.key, h.signedBytes(), h.Signature) {
			return junctor.Errorf(junctor.CodeInvalid, "the given head of record %d is not signed by this journal's key", h.Seq)
		}
		p.hashes[h.Seq] = h.Hash
		if p.foreign && p.head == nil || p.head != nil && h.Seq > p.head.Seq {
			p.head = &h
		}
	}
	return nil
}

// detectNewCheckpoint returns errNewCheckpoint if there is a later checkpoint
// than the ones that were read.
func (p *signedProofs) detectNewCheckpoint() error {
	if p.foreign || p.key == nil {
		return nil
	}
	cps, _, err := readCheckpoints(p.dir, p.replica, p.key)
	if err == nil && len(cps) > 0 && cps[len(cps)-1].UpTo > p.lastCheckpoint.UpTo {
		return errNewCheckpoint
	}
	return nil
}

// checkSigned compares a record with the hash that was signed, or that the
// witness knows, for its number. It returns the difference, or "".
func (p *signedProofs) checkSigned(l *line) string {
	if want, ok := p.hashes[l.Seq]; ok {
		var h [32]byte
		if !parseHash(&h, want) || h != l.hash {
			return "the record is not the one that was signed: it, or one before it, was replaced"
		}
	}
	if want, ok := p.knownHashes[l.Seq]; ok {
		var h [32]byte
		if !parseHash(&h, want) || h != l.hash {
			return "the record is not the one that the database knows: it, or one before it, was replaced in the journal or in the database"
		}
	}
	return ""
}

// beginChain returns the state of a chain whose first record has a number. Unless
// that is record 1, a checkpoint must cover the records before it.
func (p *signedProofs) beginChain(first uint64) (c chainVerifier, bad *BadRecord) {
	c = chainVerifier{replica: p.replica, nextSeq: first}
	switch {
	case p.badCheckpoint != nil && first > 1:
		return c, p.badCheckpoint
	case first == 1:
		c.prevKnown = true
	case p.foreign: // the first record is trusted
	case first == p.lastCheckpoint.UpTo+1:
		c.prevKnown = parseHash(&c.prevHash, p.lastCheckpoint.Hash)
	case first > p.lastCheckpoint.UpTo:
		return c, &BadRecord{Seq: p.lastCheckpoint.UpTo + 1, Reason: fmt.Sprintf("records %d to %d are missing and no checkpoint covers them", p.lastCheckpoint.UpTo+1, first-1)}
	}
	// If first is covered by the checkpoint, its segment was not removed yet, and
	// checkSigned compares the record at the checkpoint's number.
	return c, nil
}

// checkEnd compares the end of the chain with the head, the checkpoints and the
// witness.
func (p *signedProofs) checkEnd(last uint64, torn bool) *BadRecord {
	switch {
	case p.foreign:
		return nil
	case p.badCheckpoint != nil:
		return p.badCheckpoint
	case p.headErr != nil:
		return &BadRecord{Segment: filepath.Base(headPath(p.dir, p.replica)), Seq: last, Reason: "the signed head: " + p.headErr.Error()}
	case p.known.Head != nil && !p.known.Head.signedBy(p.replica, p.key):
		return &BadRecord{Seq: last, Reason: "the highest head in the database is not signed by this journal's key: the head or the key was changed"}
	case p.known.missingTail(last) != "":
		return &BadRecord{Seq: last + 1, Reason: p.known.missingTail(last)}
	case p.head.Seq > last:
		return &BadRecord{Seq: last + 1, Reason: fmt.Sprintf("the tail is missing: the signed head names record %d", p.head.Seq)}
	case p.lastCheckpoint.UpTo > last:
		return &BadRecord{Seq: last + 1, Reason: fmt.Sprintf("the tail is missing: a checkpoint names record %d", p.lastCheckpoint.UpTo)}
	case p.head.Closed && (last > p.head.Seq || torn):
		// This is normal if the journal was opened again during the verification.
		if now, err := readHead(p.dir, p.replica, p.key); err == nil && string(now.Signature) != string(p.head.Signature) {
			return nil
		}
		return &BadRecord{Seq: p.head.Seq + 1, Reason: fmt.Sprintf("added after record %d, with which the journal was closed", p.head.Seq)}
	}
	return nil
}

// verifyOnce verifies the journal in one pass. Retention can remove segments
// meanwhile; Verify then tries again.
func verifyOnce(ctx context.Context, dir string, o VerifyOptions) (Report, error) {
	r := Report{Replica: o.Replica}
	heads := resolveHeadsDir(dir, o.HeadsDir)
	if r.Replica == "" {
		replica, err := findReplica(dir, heads)
		if err != nil {
			return r, err
		}
		if replica == "" {
			r.OK = true
			r.addNote("there are no records")
			return r, nil
		}
		r.Replica = replica
	}
	// Read the signed statements first: records that are written meanwhile follow them.
	p, err := readProofs(heads, r.Replica, o)
	if err != nil {
		return r, err
	}
	segs, err := listSegments(dir)
	if err != nil {
		return r, err
	}
	segs, err = skipEmptySegments(segs)
	if err != nil {
		return r, err
	}
	if len(segs) == 0 {
		if known, _, _ := p.known.highestRecord(); p.foreign || errors.Is(p.headErr, errNoHead) && p.lastCheckpoint.UpTo == 0 && known == 0 {
			r.OK = true
			r.addNote("there are no records")
			return r, nil
		}
		r.FirstBad = &BadRecord{Seq: p.lastCheckpoint.UpTo + 1, Reason: "all segments are missing"}
		if missing := p.known.missingTail(p.lastCheckpoint.UpTo); missing != "" {
			r.FirstBad.Reason += "; " + missing
		}
		return r, p.detectNewCheckpoint()
	}
	if err := r.walkSegments(ctx, segs, p, o.Progress); err != nil || r.FirstBad == nil {
		return r, err
	}
	return r, p.detectNewCheckpoint()
}

// walkSegments verifies the segments in order and fills in the report. The error
// says that a segment could not be read.
func (r *Report) walkSegments(ctx context.Context, segs []segment, p *signedProofs, tell func(Progress)) error {
	var far Progress
	for _, s := range segs {
		if info, err := os.Stat(s.path); err == nil {
			far.Total += info.Size()
		}
	}
	c, bad := p.beginChain(segs[0].first)
	c.onClockBack = func(seq uint64, by time.Duration) {
		r.addNote("the clock was set back by %s before record %d", by.Round(time.Second), seq)
	}
	visit := func(l *line) string {
		far.Records++
		if far.Bytes += int64(len(l.rawJSON)) + 1; tell != nil && far.Records%progressEvery == 0 {
			tell(far)
		}
		switch l.Phase {
		case PhaseRecover:
			r.addNote("record %d: a half-written record of %d bytes was dropped when the journal was opened", l.Seq, l.Dropped)
		case PhaseRestore:
			r.addNote("record %d: %s", l.Seq, l.Reason)
		case PhaseLost:
			r.addNote("record %d: the journal could not be written: %d calls were refused, %d ends or refusals are not on record", l.Seq, l.Starts, l.Ends)
		default:
		}
		return p.checkSigned(l)
	}
	var torn int64
	for i, s := range segs {
		if bad != nil {
			break
		}
		var err error
		if bad, _, torn, err = c.readSegment(ctx, s, visit); err != nil {
			return err
		}
		if bad == nil && torn > 0 && i < len(segs)-1 {
			bad = &BadRecord{Segment: s.fileName(), Seq: c.nextSeq, Reason: errTornLine.Error()}
		}
	}
	r.Records, r.First = c.recordCount, c.firstSeq
	if c.recordCount > 0 {
		r.Last = c.nextSeq - 1
	}
	if bad == nil {
		bad = p.checkEnd(c.nextSeq-1, torn > 0)
	}
	if bad != nil && bad.Segment == "" && c.nextSeq <= bad.Seq {
		// Name the file that should contain the record.
		for _, s := range segs {
			if s.first <= bad.Seq {
				bad.Segment = s.fileName()
			}
		}
	}
	if r.FirstBad, r.OK = bad, bad == nil; r.OK && torn > 0 {
		r.addNote("the last line is not complete yet: %d bytes", torn)
	}
	return nil
}

// findReplica returns the replica of a journal: from its first readable record or,
// without one, from the name of the only head.
func findReplica(dir, heads string) (string, error) {
	segs, err := listSegments(dir)
	if err != nil {
		return "", err
	}
	for _, s := range segs {
		replica := ""
		if err := readSegmentForward(s, func(b []byte) bool {
			if l, err := parseLine(b); err == nil && isValidReplica(l.Replica) {
				replica = l.Replica
			}
			return replica == ""
		}); err != nil {
			return "", err
		}
		if replica != "" {
			return replica, nil
		}
	}
	found, err := filepath.Glob(filepath.Join(heads, "*.json"))
	if err != nil || len(found) != 1 {
		return "", err
	}
	base := filepath.Base(found[0])
	return base[:len(base)-len(".json")], nil
}

// skipEmptySegments leaves out empty files. They hold no record, and a gap shows
// in the next segment.
func skipEmptySegments(segs []segment) ([]segment, error) {
	var out []segment
	for _, s := range segs {
		info, err := os.Stat(s.path)
		if err != nil {
			return nil, err
		}
		if info.Size() > 0 {
			out = append(out, s)
		}
	}
	return out, nil
}
