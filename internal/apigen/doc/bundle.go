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
	ctx      context.Context // ends with reading: afterwards nothing is fetched
	meter    *Meter
	fetch    Fetch
	main     *file
	files    map[string]*file // by name; one that could not be had is there without a root
	size     int
	found    map[lookup]*Node
	anchors  map[string]map[string]*Node // of a file, made when first asked for
	around   map[*Node]*Node             // holder of a $recursiveRef -> what it means
	queue    []queued                    // schemas that references lead to, still to be looked at
	problems []Problem
	seen     map[string]bool // problems, by place and code
	key      string          // of the operation that is being read
}

// queued is a schema to look at, and how it was come by.
type queued struct {
	schema  *Node
	pointer string
}

type file struct {
	name, url string
	root      *Node
	err       error
}

type lookup struct{ file, ref string }

func newBundle(ctx context.Context, in *Input, root *Node) *bundle {
	main := &file{name: in.Name, url: in.URL, root: root}
	return &bundle{
		ctx: ctx, meter: MeterOf(ctx), fetch: in.fetch, main: main, files: map[string]*file{in.Name: main}, size: len(in.Text),
		found: map[lookup]*Node{}, anchors: map[string]map[string]*Node{}, around: map[*Node]*Node{}, seen: map[string]bool{},
	}
}

// where is the way to a value, for its JSON pointer.
type where struct {
	up      *where
	segment string
}

func (w *where) to(segment string) *where { return &where{w, segment} }

func (w *where) pointer() string {
	if w == nil {
		return ""
	}
	if w.up == nil {
		return w.segment // a pointer already
	}
	return w.up.pointer() + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(w.segment)
}

// report keeps a problem, once for its place and code.
func (b *bundle) report(at Position, w *where, severity Severity, code Code, message, remedy string) {
	if at.File == "" {
		at.File = b.main.name
	}
	id := fmt.Sprint(at.File, ":", at.Line, ":", at.Column, " ", code)
	if b.seen[id] {
		return
	}
	b.seen[id] = true
	b.problems = append(b.problems, Problem{At: at, Pointer: w.pointer(), Severity: severity, Code: code, Message: message, Remedy: remedy, Key: b.key})
}

// errBlocked and errMissing say why a reference leads nowhere.
var (
	errBlocked = errors.New("it leads out of the document's own origin")
	errMissing = errors.New("nothing is there")
)

// Resolve finds what a reference names. It is safe for use by several once the
// document was read.
func (b *bundle) Resolve(ref string, from *Node) (*Node, error) { return b.resolve(ref, from, 0) }

// resolve is Resolve; hops counts the references that were followed on the way.
func (b *bundle) resolve(ref string, from *Node, hops int) (*Node, error) {
	if n := b.around[from]; n != nil {
		return n, nil
	}
	key := lookup{from.positionOrStart(b.main.name).File, ref}
	if n := b.found[key]; n != nil {
		return n, nil
	}
	f := b.files[key.file]
	if f == nil {
		f = b.main
	}
	base, fragment, _ := strings.Cut(ref, "#")
	if base != "" {
		other, err := b.other(f, base)
		if err != nil {
			if n := b.byName(ref); n != nil {
				return n, nil
			}
			return nil, err
		}
		f = other
	}
	n, err := b.at(f, fragment, hops)
	if err == nil && b.ctx != nil {
		b.found[key] = n
	}
	return n, err
}

// byName finds what old documents refer to by a bare name.
func (b *bundle) byName(name string) *Node {
	if strings.ContainsAny(name, "/#") {
		return nil
	}
	if n := b.main.root.Get("definitions").Get(name); n != nil {
		return n
	}
	return b.main.root.Get("components").Get("schemas").Get(name)
}

// at follows a fragment through a file, and through references on the way.
func (b *bundle) at(f *file, fragment string, hops int) (*Node, error) {
	n := f.root
	if fragment != "" && !strings.HasPrefix(fragment, "/") {
		if n = b.anchorsOf(f)[fragment]; n == nil {
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
		next := step(n, segment)
		for next == nil && hops < 32 && n.Get("$ref") != nil {
			hops++
			var err error
			if n, err = b.resolve(n.Get("$ref").Str(), n, hops); err != nil {
				return nil, err
			}
			next = step(n, segment)
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

// step takes one segment of a pointer, which may be written in several ways.
func step(n *Node, segment string) *Node {
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

// anchorsOf finds $anchor, $dynamicAnchor and $id of a file.
func (b *bundle) anchorsOf(f *file) map[string]*Node {
	if m := b.anchors[f.name]; m != nil || b.ctx == nil {
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
	b.anchors[f.name] = m
	return m
}

// other is another file, brought once.
func (b *bundle) other(from *file, ref string) (*file, error) {
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
	if name == b.main.url {
		return b.main, nil
	}
	if f := b.files[name]; f != nil {
		return f, f.err
	}
	f := &file{name: name, url: name}
	switch {
	case b.ctx == nil || b.fetch == nil:
		return nil, errBlocked
	case !beside(b.main.url, to):
		f.err = errBlocked
	case len(b.files) > maxFiles || b.size > maxTextBytes:
		f.err = fmt.Errorf("%w: the document has too many files or is too large", errBlocked)
	default:
		source, err := b.fetch(b.ctx, name)
		if err != nil {
			f.err = fmt.Errorf("%w: %w", errBlocked, err)
			break
		}
		b.size += len(source)
		if b.size > maxTextBytes {
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

// beside says whether a file may belong to a document: it is of the same origin,
// and where that is a folder, below it.
func beside(main string, to *url.URL) bool {
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

// deref follows references from a value that is no schema. It gives nil, with a
// problem, where they lead nowhere.
func (b *bundle) deref(n *Node, w *where) *Node {
	var visited []*Node
	for n != nil {
		ref := n.Get("$ref")
		if ref == nil || ref.Kind != String {
			return n
		}
		if slices.Contains(visited, n) || len(visited) > 32 {
			b.report(ref.At, w, Error, UnresolvedRef, "The reference leads back to itself.", "Let it name what is meant.")
			return nil
		}
		visited = append(visited, n)
		to, err := b.Resolve(ref.Str(), n)
		if err != nil {
			b.unresolved(ref, w, err)
			return nil
		}
		n = to
	}
	return n
}

// unresolved reports a reference that leads nowhere.
func (b *bundle) unresolved(ref *Node, w *where, err error) {
	code, remedy := UnresolvedRef, "Define it, or correct the reference."
	if errors.Is(err, errBlocked) {
		code, remedy = ExternalRefBlocked, "Put the parts into one document, or let all its files come from one address."
	}
	b.report(ref.At, w, Error, code, fmt.Sprintf("The reference %q leads nowhere: %s.", truncateText(ref.Str(), 200), cmp.Or(err, errMissing)), remedy)
}
