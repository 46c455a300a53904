package doc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// maxFiles bounds how many files a document is made of.
const maxFiles = 200

// bundle is a document with the other files that it refers to. It finds what
// references name and gathers problems.
type bundle struct {
	ctx              context.Context // ends with reading: afterwards nothing is fetched
	meter            *Meter
	fetch            Fetch
	mainFile         *file
	files            map[string]*file // by name; one that could not be had is there without a root
	totalBytes       int
	resolvedRefs     map[refKey]*Node
	anchorsByFile    map[string]map[string]*Node // of a file, made when first asked for
	recursiveTargets map[*Node]*Node             // holder of a $recursiveRef -> what it means
	pendingSchemas   []pendingSchema             // schemas that references lead to, still to be looked at
	problems         []Problem
	reported         map[string]bool // problems, by place and code
	operationKey     string          // of the operation that is being read
}

// pendingSchema is a schema to look at, and how it was come by.
type pendingSchema struct {
	schema  *Node
	pointer string
}

type file struct {
	name, url string
	root      *Node
	err       error
}

type refKey struct{ file, ref string }

func newBundle(ctx context.Context, in *Input, root *Node) *bundle {
	main := &file{name: in.Name, url: in.URL, root: root}
	return &bundle{
		ctx: ctx, meter: MeterOf(ctx), fetch: in.fetch, mainFile: main, files: map[string]*file{in.Name: main}, totalBytes: len(in.Text),
		resolvedRefs: map[refKey]*Node{}, anchorsByFile: map[string]map[string]*Node{}, recursiveTargets: map[*Node]*Node{}, reported: map[string]bool{},
	}
}

// pointerPath is the way to a value, for its JSON pointer.
type pointerPath struct {
	parent  *pointerPath
	segment string
}

func (w *pointerPath) child(segment string) *pointerPath { return &pointerPath{w, segment} }

func (w *pointerPath) jsonPointer() string {
	if w == nil {
		return ""
	}
	if w.parent == nil {
		return w.segment // a pointer already
	}
	return w.parent.jsonPointer() + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(w.segment)
}

// reportProblem keeps a problem, once for its place and code.
func (b *bundle) reportProblem(at Position, w *pointerPath, severity Severity, code Code, message, remedy string) {
	if at.File == "" {
		at.File = b.mainFile.name
	}
	id := fmt.Sprint(at.File, ":", at.Line, ":", at.Column, " ", code)
	if b.reported[id] {
		return
	}
	b.reported[id] = true
	b.problems = append(b.problems, Problem{At: at, Pointer: w.jsonPointer(), Severity: severity, Code: code, Message: message, Remedy: remedy, Key: b.operationKey})
}

// errBlocked and errMissing say why a reference leads nowhere.
var (
	errBlocked = errors.New("it leads out of the document's own origin")
	errMissing = errors.New("nothing is there")
)

// Resolve finds what a reference names. It is safe for use by several once the
// document was read.
func (b *bundle) Resolve(ref string, from *Node) (*Node, error) { return b.resolveRef(ref, from, 0) }

// resolveRef is Resolve; hops counts the references that were followed on the way.
func (b *bundle) resolveRef(ref string, from *Node, hops int) (*Node, error) {
	if n := b.recursiveTargets[from]; n != nil {
		return n, nil
	}
	key := refKey{from.positionOrStart(b.mainFile.name).File, ref}
	if n := b.resolvedRefs[key]; n != nil {
		return n, nil
	}
	f := b.files[key.file]
	if f == nil {
		f = b.mainFile
	}
	base, fragment, _ := strings.Cut(ref, "#")
	if base != "" {
		other, err := b.loadFile(f, base)
		if err != nil {
			if n := b.findByName(ref); n != nil {
				return n, nil
			}
			return nil, err
		}
		f = other
	}
	n, err := b.followFragment(f, fragment, hops)
	if err == nil && b.ctx != nil {
		b.resolvedRefs[key] = n
	}
	return n, err
}

// findByName finds what old documents refer to by a bare name.
func (b *bundle) findByName(name string) *Node {
	if strings.ContainsAny(name, "/#") {
		return nil
	}
	if n := b.mainFile.root.Get("definitions").Get(name); n != nil {
		return n
	}
	return b.mainFile.root.Get("components").Get("schemas").Get(name)
}

// followFragment follows a fragment through a file, and through references on the way.
func (b *bundle) followFragment(f *file, fragment string, hops int) (*Node, error) {
	n := f.root
	if fragment != "" && !strings.HasPrefix(fragment, "/") {
		if n = b.collectAnchors(f)[fragment]; n == nil {
			return nil, errMissing
		}
		return n, nil
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(fragment, "/"), "/") {
		if fragment == "" || fragment == "/" {
			break
		}
		if b.ctx != nil {
			b.meter.Spend(1 + len(n.Members)/16)
		}
		next := lookUpSegment(n, segment)
		for next == nil && hops < 32 && n.Get("$ref") != nil {
			hops++
			var err error
			if n, err = b.resolveRef(n.Get("$ref").Str(), n, hops); err != nil {
				return nil, err
			}
			next = lookUpSegment(n, segment)
		}
		if n = next; n == nil {
			return nil, errMissing
		}
	}
	if n == nil {
		return nil, errMissing
	}
	return n, nil
}

// lookUpSegment takes one segment of a pointer, which may be written in several ways.
func lookUpSegment(n *Node, segment string) *Node {
	if n == nil {
		return nil
	}
	plain := strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
	if n.Kind == Array {
		if i, err := strconv.Atoi(plain); err == nil && i >= 0 && i < len(n.Items) {
			return n.Items[i]
		}
		return nil
	}
	if m := n.Get(plain); m != nil {
		return m
	}
	if decoded, err := url.PathUnescape(segment); err == nil && decoded != segment {
		return n.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(decoded))
	}
	return nil
}

// collectAnchors finds $anchor, $dynamicAnchor and $id of a file.
func (b *bundle) collectAnchors(f *file) map[string]*Node {
	if m := b.anchorsByFile[f.name]; m != nil || b.ctx == nil {
		return m
	}
	m := map[string]*Node{}
	var walk func(n *Node)
	walk = func(n *Node) {
		for _, key := range []string{"$anchor", "$dynamicAnchor", "$id"} {
			if a := n.Get(key).Str(); a != "" {
				m[strings.TrimPrefix(a, "#")] = n
			}
		}
		for i := range n.Members {
			walk(n.Members[i].Value)
		}
		for _, c := range n.Items {
			walk(c)
		}
	}
	if f.root != nil {
		walk(f.root)
	}
	b.anchorsByFile[f.name] = m
	return m
}

// loadFile is another file, brought once.
func (b *bundle) loadFile(from *file, ref string) (*file, error) {
	if from.url == "" {
		return nil, fmt.Errorf("%w: the document has no address that other files could be beside", errBlocked)
	}
	base, err := url.Parse(from.url)
	if err != nil {
		return nil, errBlocked
	}
	to, err := base.Parse(ref)
	if err != nil {
		return nil, fmt.Errorf("%w: it is no address", errBlocked)
	}
	to.Fragment = ""
	name := to.String()
	if name == b.mainFile.url {
		return b.mainFile, nil
	}
	if f := b.files[name]; f != nil {
		return f, f.err
	}
	f := &file{name: name, url: name}
	switch {
	case b.ctx == nil || b.fetch == nil:
		return nil, errBlocked
	case !belongsToDocument(b.mainFile.url, to):
		f.err = errBlocked
	case len(b.files) > maxFiles || b.totalBytes > maxTextBytes:
		f.err = fmt.Errorf("%w: the document has too many files or is too large", errBlocked)
	default:
		source, err := b.fetch(b.ctx, name)
		if err != nil {
			f.err = fmt.Errorf("%w: %w", errBlocked, err)
			break
		}
		b.totalBytes += len(source)
		if b.totalBytes > maxTextBytes {
			f.err = fmt.Errorf("%w: the document is too large with it", errBlocked)
			break
		}
		var found []Problem
		f.root, found = parseText(name, source)
		b.problems = append(b.problems, found...)
	}
	b.files[name] = f
	return f, f.err
}

// belongsToDocument says whether a file may belong to a document: it is of the same origin,
// and where that is a folder, below it.
func belongsToDocument(main string, to *url.URL) bool {
	m, err := url.Parse(main)
	if err != nil || m.Scheme != to.Scheme || m.Host != to.Host || to.User != nil {
		return false
	}
	if m.Scheme == "http" || m.Scheme == "https" {
		return true
	}
	dir := path.Dir(m.Path)
	return strings.HasPrefix(path.Clean(to.Path), strings.TrimSuffix(dir, "/")+"/")
}

// followRefs follows references from a value that is no schema. It gives nil, with a
// problem, where they lead nowhere.
func (b *bundle) followRefs(n *Node, w *pointerPath) *Node {
	var visited []*Node
	for n != nil {
		ref := n.Get("$ref")
		if ref == nil || ref.Kind != String {
			return n
		}
		if slices.Contains(visited, n) || len(visited) > 32 {
			b.reportProblem(ref.At, w, Error, UnresolvedRef, "The reference leads back to itself.", "Let it name what is meant.")
			return nil
		}
		visited = append(visited, n)
		to, err := b.Resolve(ref.Str(), n)
		if err != nil {
			b.reportUnresolved(ref, w, err)
			return nil
		}
		n = to
	}
	return n
}

// reportUnresolved reports a reference that leads nowhere.
func (b *bundle) reportUnresolved(ref *Node, w *pointerPath, err error) {
	code, remedy := UnresolvedRef, "Define it, or correct the reference."
	if errors.Is(err, errBlocked) {
		code, remedy = ExternalRefBlocked, "Put the parts into one document, or let all its files come from one address."
	}
	b.reportProblem(ref.At, w, Error, code, fmt.Sprintf("The reference %q leads nowhere: %s.", truncateText(ref.Str(), 200), cmp.Or(err, errMissing)), remedy)
}
