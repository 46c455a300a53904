package config

import (
	"bytes"
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

// maxFile is far more than all settings together need.
const maxFile = 1 << 20

func (l *loader) file() {
	path := l.src.File
	if path == "" {
		path, _ = l.src.Env(envConfig)
	}
	if path == "" {
		return
	}
	if abs, err := filepath.Abs(path); err == nil {
		l.config.file, l.folder = abs, filepath.Dir(abs)
	}
	text, err := readFile(path)
	if err != nil {
		l.problem(path, "", err.Error())
		return
	}
	l.config.sum, l.config.blank = sha256.Sum256(text), len(bytes.TrimSpace(text)) == 0
	l.parseFile(path, text)
	l.readable(path)
}

// readable warns of credentials that others on this machine can read.
func (l *loader) readable(path string) {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o044 == 0 {
		return
	}
	for _, s := range l.config.declared.Servers {
		if s.literal() {
			l.warn(fmt.Sprintf("%s: the server %q has a credential as a value, and others can read the file: write env:NAME, file:/path or cmd:program instead, or chmod 600 it", s.Where, s.ID))
			return
		}
	}
	for _, s := range l.config.declared.Sources {
		if s.literal() {
			l.warn(fmt.Sprintf("%s: the source %q has its secret as a value, and others can read the file: write env:NAME, file:/path or cmd:program instead, or chmod 600 it", s.Where, s.ID))
			return
		}
	}
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no such file")
	}
	if err != nil {
		return nil, errors.New("the file cannot be opened: " + reason(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, errors.New("the file cannot be read: " + reason(err))
	}
	if len(text) > maxFile {
		return nil, errors.New("the file is larger than 1 MiB")
	}
	return text, nil
}

// reason is the system's word for a failure without the path.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// parseFile takes the settings of a YAML document, and what it declares.
func (l *loader) parseFile(path string, text []byte) {
	d := &document{l, path}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if !errors.Is(err, io.EOF) { // an empty file is a file without settings
			l.syntax(path, err)
		}
		return
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			l.syntax(path, err)
		} else {
			l.problem(d.at(&second), "", "a second document begins here: the file must hold one")
		}
		return
	}
	root := doc.Content[0]
	if isNull(root) {
		return
	}
	if root.Kind != yaml.MappingNode {
		l.problem(d.at(root), "", "the file must hold settings as `key: value` lines")
		return
	}
	f := &fileReader{document: d, byKey: map[string]Setting{}, seen: map[string]int{}}
	for _, s := range Settings() {
		f.byKey[s.Key()] = s
	}
	f.read(root, "")
}

// fileReader takes the settings of one file.
type fileReader struct {
	*document
	byKey map[string]Setting
	seen  map[string]int // the line of each key, with what stands above it
}

// read takes the settings of a mapping. What settings have in common at their
// beginning may stand once, above them: a: {b: x} is a_b: x.
func (f *fileReader) read(mapping *yaml.Node, prefix string) {
	declarations := f.l.declarations()
	known := slices.AppendSeq(names(Setting.Key), maps.Keys(declarations))
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := prefix + key.Value
		s, ok := f.byKey[name]
		switch line := f.seen[name]; {
		case key.Kind == yaml.ScalarNode && prefix == "" && value.Kind == yaml.MappingNode && f.groups(name):
			f.read(value, name+"_")
			continue
		case key.Kind != yaml.ScalarNode || !slices.Contains(known, name):
			f.l.problem(f.at(key), "", fmt.Sprintf("unknown key %q%s", short(key.Value), didYouMean(name, known)))
			continue
		case line != 0:
			f.l.problem(f.at(key), s.Name, fmt.Sprintf("%s was already set on line %d", name, line))
			continue
		}
		f.seen[name] = key.Line
		if !ok {
			declarations[name](f.document, value)
			continue
		}
		text, err := s.fromYAML(value)
		if err != nil {
			f.l.problem(f.at(value), s.Name, s.Key()+" "+err.Error())
			continue
		}
		f.l.setAt(s, text, fmt.Sprintf("%s:%d", f.path, value.Line), f.at(value))
	}
}

// groups says whether several settings begin with the word.
func (f *fileReader) groups(word string) bool {
	n := 0
	for key := range f.byKey {
		if strings.HasPrefix(key, word+"_") {
			n++
		}
	}
	return n > 1
}

// syntax reports what the YAML parser found, with the line in front.
func (l *loader) syntax(path string, err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := regexp.MustCompile(`^line (\d+): (.*)`).FindStringSubmatch(message); m != nil {
		path, message = path+":"+m[1], m[2]
	}
	l.problem(path, "", "this is not YAML: "+message)
}

// fromYAML gives a value in the text form of flags, or says what is wrong with
// its type.
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
				return "", errors.New("has an item with a comma in it: write each as an item of its own")
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
			return "", errors.New("must be a time with its unit, such as 30s or 2m")
		}
	case KindText:
		if !isScalar(n, "!!str") {
			return "", errors.New("must be a text; put it in quotes")
		}
	case KindList:
		if !isScalar(n, "!!str") {
			return "", errors.New("must be a list of texts, or one text with commas")
		}
	}
	return n.Value, nil
}

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

func isNull(n *yaml.Node) bool { return isScalar(n, "!!null") }
