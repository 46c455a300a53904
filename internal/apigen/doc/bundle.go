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

	junctor "github.com/junctor-mcp/junctor"
)

// maxFiles bounds the number of files of one document.
const maxFiles = 200

// bundle is a document together with the other files that it refers to. It
// resolves references and collects problems while the document is read.
// Afterwards it is the Schemas of the Document: finishDocument removes the
// context, and from then on nothing is fetched and no field is written, so that
// Resolve is safe for concurrent use.
type bundle struct {
	// ctx is nil once the document is read.
	ctx      context.Context
	meter    *Meter
	fetch    Fetch
	mainFile *file
	// files are all files by name. A file that could not be loaded has an error
	// and no root, so that it is not fetched twice.
	files      map[string]*file
	totalBytes int
	// resolvedRefs caches the targets of references, so that the same ref
	// returns the same Node.
	resolvedRefs map[refKey]*Node
	// anchorsByFile are the $anchors and $ids of a file, collected when one is
	// first asked for.
	anchorsByFile map[string]map[string]*Node
	// recursiveTargets maps the holder of a $recursiveRef to the schema that it
	// means.
	recursiveTargets map[*Node]*Node
	// pendingSchemas are targets of references that are not translated yet.
	pendingSchemas []pendingSchema
	problems       []Problem
	// reported holds the problems so far by position and code: a shared part is
	// reported once.
	reported map[string]bool
	// operationKey is the Key of the operation that is being read; problems
	// carry it.
	operationKey string
}

// pendingSchema is a schema to translate, and the JSON pointer of the reference
// that led to it.
type pendingSchema struct {
	schema  *Node
	pointer string
}

// file is one file of the document.
type file struct {
	name, url string
	root      *Node
	err       error
}

// refKey identifies a reference: the same text means different values in
// different files.
type refKey struct{ file, ref string }

// newBundle returns the bundle of a text whose tree is root. Other files are
// loaded with the Fetch of in.
func newBundle(ctx context.Context, in *Input, root *Node) *bundle {
	main := &file{name: in.Name, url: in.URL, root: root}
	b := &bundle{
		ctx: ctx, meter: MeterFromContext(ctx), fetch: in.fetch, mainFile: main, files: map[string]*file{in.Name: main}, totalBytes: len(in.Text),
		resolvedRefs: map[refKey]*Node{}, anchorsByFile: map[string]map[string]*Node{}, recursiveTargets: map[*Node]*Node{}, reported: map[string]bool{},
	}
	b.dropDuplicateKeys(root, b.pathFromRoot(), 0)
	return b
}

// pointerPath is the path to a value as a linked list. Its JSON pointer is
// built only if a problem needs it.
type pointerPath struct {
	parent  *pointerPath
	segment string
}

// childPath returns the path to a member or element.
func (w *pointerPath) childPath(segment string) *pointerPath { return &pointerPath{w, segment} }

// jsonPointer returns the path as a JSON pointer. The segment of a root is a
// whole pointer, which translatePending sets.
func (w *pointerPath) jsonPointer() string {
	if w == nil {
		return ""
	}
	if w.parent == nil {
		return w.segment // a pointer already
	}
	return w.parent.jsonPointer() + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(w.segment)
}

// reportProblem adds a problem, once for its position and code.
func (b *bundle) reportProblem(at Position, w *pointerPath, severity Severity, code Code, message, remedy string) {
	if at.File == "" {
		at.File = b.mainFile.name
	}
	id := fmt.Sprint(at.File, ":", at.Line, ":", at.Column, " ", code)
	if b.reported[id] {
		return
	}
	b.reported[id] = true
	b.problems = append(b.problems, Problem{At: at, Pointer: w.jsonPointer(), Severity: severity, Code: code, Message: message, Remedy: remedy, OperationKey: b.operationKey})
}

// errBlocked and errMissing say why a reference leads nowhere. Messages to
// users contain their texts.
var (
	errBlocked = errors.New("it leads to another origin than the document's")
	errMissing = errors.New("its target does not exist")
)

// Resolve implements Schemas. It is safe for concurrent use once the document
// is read.
func (b *bundle) Resolve(ref string, from *Node) (*Node, error) { return b.resolveRef(ref, from, 0) }

// resolveRef is Resolve. hops counts the references that were followed on the
// way and bounds those that lead to each other.
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
	// The cache is written only while the document is read: afterwards several
	// goroutines resolve.
	if err == nil && b.ctx != nil {
		b.resolvedRefs[key] = n
	}
	return n, err
}

// findByName finds the schema that an old document refers to by its bare name.
func (b *bundle) findByName(name string) *Node {
	if strings.ContainsAny(name, "/#") {
		return nil
	}
	if n := b.mainFile.root.Get("definitions").Get(name); n != nil {
		return n
	}
	return b.mainFile.root.Get("components").Get("schemas").Get(name)
}

// followFragment follows a JSON pointer or anchor through a file. It also
// follows references that it meets on the way, since real documents point into
// schemas that are themselves references.
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
			if n, err = b.resolveRef(n.Get("$ref").ScalarText(), n, hops); err != nil {
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

// lookUpSegment returns the value at one segment of a JSON pointer. It accepts
// segments with and without URL encoding, because documents write both.
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

// collectAnchors returns the values of a file with an $anchor, $dynamicAnchor
// or $id, by that name.
func (b *bundle) collectAnchors(f *file) map[string]*Node {
	if m := b.anchorsByFile[f.name]; m != nil || b.ctx == nil {
		return m
	}
	m := map[string]*Node{}
	var walk func(n *Node)
	walk = func(n *Node) {
		for _, key := range []string{"$anchor", "$dynamicAnchor", "$id"} {
			if a := n.Get(key).ScalarText(); a != "" {
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

// loadFile returns another file, which it fetches once. ref is resolved against
// the address of from. The error wraps errBlocked for every file that may not
// be loaded or cannot be.
func (b *bundle) loadFile(from *file, ref string) (*file, error) {
	if from.url == "" {
		return nil, fmt.Errorf("%w: the document has no address to resolve it against", errBlocked)
	}
	base, err := url.Parse(from.url)
	if err != nil {
		return nil, errBlocked
	}
	to, err := base.Parse(ref)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not a valid address", errBlocked)
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
		b.dropDuplicateKeys(f.root, b.pathFromRoot(), 0)
	}
	b.files[name] = f
	return f, f.err
}

// belongsToDocument reports whether a file may belong to the document at main.
// It must have the same origin, and in a file system it must be below the
// folder of the document. Without this check a document could make the gateway
// fetch any address.
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

// followRefs follows references from a value that is no schema, such as a
// parameter. It returns nil, with a problem, if they lead nowhere or in a
// circle.
func (b *bundle) followRefs(n *Node, w *pointerPath) *Node {
	var visited []*Node
	for n != nil {
		ref := n.Get("$ref")
		if ref == nil || ref.Kind != String {
			return n
		}
		if slices.Contains(visited, n) || len(visited) > 32 {
			b.reportProblem(ref.At, w, Error, UnresolvedRef, "The reference leads back to itself.", "Let it name the intended part.")
			return nil
		}
		visited = append(visited, n)
		to, err := b.Resolve(ref.ScalarText(), n)
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
		code, remedy = ExternalRefBlocked, "Put the parts into one document, or serve all its files from one address."
	}
	b.reportProblem(ref.At, w, Error, code, fmt.Sprintf("The reference %q leads nowhere: %s.", junctor.ShortenText(ref.ScalarText(), 200), cmp.Or(err, errMissing)), remedy)
}
