package config

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile is the maximum size of the settings file in bytes.
const maxFile = 1 << 20

// applyFile reads the settings file that a flag or JUNCTOR_CONFIG names, if
// any. It stores its settings and keeps its declarations.
func (l *loader) applyFile() {
	path := l.sources.File
	if path == "" {
		path, _ = l.sources.Env(envConfig)
	}
	if path == "" {
		return
	}
	if abs, err := filepath.Abs(path); err == nil {
		l.config.file, l.folder = abs, filepath.Dir(abs)
	}
	text, err := readFile(path)
	if err != nil {
		l.addProblem(path, "", err.Error())
		return
	}
	l.config.fileSum, l.config.fileBlank = sha256.Sum256(text), len(bytes.TrimSpace(text)) == 0
	l.parseFile(path, text)
	l.warnOfReadableSecrets(path)
}

// warnOfReadableSecrets warns if the file contains a credential as a plain
// value and other users of the machine can read the file. One warning is
// enough.
func (l *loader) warnOfReadableSecrets(path string) {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o044 == 0 {
		return
	}
	for _, s := range l.config.declared.Servers {
		if s.hasLiteralSecret() {
			l.addWarning(fmt.Sprintf("%s: the server %q contains a credential, and other users of this machine can read the file: write env:NAME, file:/path or cmd:program instead, or run chmod 600 on the file", s.Where, s.ID))
			return
		}
	}
	for _, s := range l.config.declared.Sources {
		if s.hasLiteralSecret() {
			l.addWarning(fmt.Sprintf("%s: the source %q contains its secret, and other users of this machine can read the file: write env:NAME, file:/path or cmd:program instead, or run chmod 600 on the file", s.Where, s.ID))
			return
		}
	}
}

// readFile returns the text of the settings file. Errors say what is wrong
// without the path, which the caller adds.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the file does not exist")
	}
	if err != nil {
		return nil, errors.New("the file cannot be opened: " + systemReason(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, errors.New("the file cannot be read: " + systemReason(err))
	}
	if len(text) > maxFile {
		return nil, errors.New("the file is larger than 1 MiB")
	}
	return text, nil
}

// systemReason returns the operating system's reason for a failure, without the
// path.
func systemReason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// parseFile reads a YAML document: the settings and the declarations of a file.
// path is used in problems. A file with a syntax error has only that problem.
func (l *loader) parseFile(path string, text []byte) {
	d := &document{l, path}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); err != nil {
		// Decode returns io.EOF for a file without a document.
		if !errors.Is(err, io.EOF) { // an empty file is a file without settings
			l.addSyntaxProblem(path, err)
		}
		return
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			l.addSyntaxProblem(path, err)
		} else {
			l.addProblem(d.nodePosition(&second), "", "a second YAML document begins here: the file must contain only one")
		}
		return
	}
	root := doc.Content[0]
	if isNull(root) {
		return
	}
	if root.Kind != yaml.MappingNode {
		l.addProblem(d.nodePosition(root), "", "the file must contain settings as `key: value` lines")
		return
	}
	f := &fileReader{document: d, byKey: map[string]Setting{}, seen: map[string]int{}}
	for _, s := range Settings() {
		f.byKey[s.Key()] = s
	}
	f.readSettings(root, "")
}

// fileReader reads the settings of one file.
type fileReader struct {
	*document
	byKey map[string]Setting
	seen  map[string]int // the line of each key, by its full name
}

// namesBelow returns the names that begin with a prefix as they are written below it.
func namesBelow(names []string, prefix string) (below []string) {
	for _, name := range names {
		if rest, found := strings.CutPrefix(name, prefix); found {
			below = append(below, rest)
		}
	}
	return below
}

// readSettings reads the settings of a mapping, and passes the declarations to
// their readers. Settings with a common prefix may be grouped: a: {b: x} means
// a_b: x. prefix is "" at the top level, or the group with an underscore.
func (f *fileReader) readSettings(mapping *yaml.Node, prefix string) {
	declarations := f.loader.declarationReaders()
	known := slices.AppendSeq(listSettingNames(Setting.Key), maps.Keys(declarations))
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := prefix + key.Value
		s, ok := f.byKey[name]
		switch line := f.seen[name]; {
		// Groups have one level only, so prefix must be empty here.
		case key.Kind == yaml.ScalarNode && prefix == "" && value.Kind == yaml.MappingNode && f.isGroupName(name):
			f.readSettings(value, name+"_")
			continue
		case key.Kind != yaml.ScalarNode || !slices.Contains(known, name):
			f.loader.addProblem(f.nodePosition(key), "", fmt.Sprintf("unknown key %q%s", shortenText(key.Value), cmp.Or(didYouMean(key.Value, namesBelow(known, prefix)), "; `junctor config print` lists the settings")))
			continue
		case line != 0:
			f.loader.addProblem(f.nodePosition(key), s.Name, fmt.Sprintf("%s is already set on line %d: remove one of the two lines", name, line))
			continue
		}
		f.seen[name] = key.Line
		if !ok {
			declarations[name](f.document, value)
			continue
		}
		text, err := s.fromYAML(value)
		if err != nil {
			f.loader.addProblem(f.nodePosition(value), s.Name, s.Key()+" "+err.Error())
			continue
		}
		f.loader.applyValueAt(s, text, fmt.Sprintf("%s:%d", f.path, value.Line), f.nodePosition(value))
	}
}

// isGroupName reports whether at least two settings begin with the word and an
// underscore.
func (f *fileReader) isGroupName(word string) bool {
	n := 0
	for key := range f.byKey {
		if strings.HasPrefix(key, word+"_") {
			n++
		}
	}
	return n > 1
}

// addSyntaxProblem notes an error of the YAML parser, with the line in the
// position instead of the message.
func (l *loader) addSyntaxProblem(path string, err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := regexp.MustCompile(`^line (\d+): (.*)`).FindStringSubmatch(message); m != nil {
		path, message = path+":"+m[1], m[2]
	}
	l.addProblem(path, "", "invalid YAML: "+message)
}

// fromYAML returns the value of a node in the text form of flags. The node must
// have the type that the kind of the setting requires: nothing is converted
// silently, so that 010 or yes do not become something unexpected.
func (s Setting) fromYAML(n *yaml.Node) (string, error) {
	if isNull(n) {
		return "", errors.New("has no value: write one, or remove the line")
	}
	if s.Kind == KindList && n.Kind == yaml.SequenceNode {
		items := make([]string, len(n.Content))
		for i, item := range n.Content {
			if !isScalar(item, "!!str") {
				return "", errors.New("must be a list of texts")
			}
			if strings.Contains(item.Value, ",") {
				return "", errors.New("has an item that contains a comma: write each value as its own item")
			}
			items[i] = item.Value
		}
		return strings.Join(items, ","), nil
	}
	switch s.Kind {
	case KindBool:
		if !isScalar(n, "!!bool") {
			return "", errors.New("must be true or false, without quotes")
		}
	case KindNumber:
		if !isScalar(n, "!!int", "!!float") {
			return "", errors.New("must be a number, without quotes")
		}
	case KindSize:
		if !isScalar(n, "!!int", "!!str") {
			return "", errors.New("must be a number of bytes, or a text such as 4MiB")
		}
	case KindDuration:
		if !isScalar(n, "!!str") {
			return "", errors.New("must be a duration with a unit, such as 30s or 2m")
		}
	case KindText:
		if !isScalar(n, "!!str") {
			return "", errors.New("must be a text; put it in quotes")
		}
	case KindList:
		if !isScalar(n, "!!str") {
			return "", errors.New("must be a list of texts, or one text with commas between the items")
		}
	}
	return n.Value, nil
}

// isScalar reports whether n is a scalar with one of the YAML tags.
func isScalar(n *yaml.Node, tags ...string) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	for _, tag := range tags {
		if n.ShortTag() == tag {
			return true
		}
	}
	return false
}

// isNull reports whether n is null or has no value.
func isNull(n *yaml.Node) bool { return isScalar(n, "!!null") }
