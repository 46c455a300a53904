package store_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// rolling is the last migration before versions can be replaced one replica at a time,
// by schema: from the next one on, a migration only adds. The migrations up to it rename
// tables and columns, which no released version has.
var rolling = map[string]int{"migrations": 50, "history": 50}

// TestMigrationsExpand holds every migration to the rule that replicas of the version
// before it go on working while it is made, and after.
func TestMigrationsExpand(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		for folder, since := range rolling {
			for _, wrong := range contracting(t, os.DirFS(path.Join(engine, folder)), since) {
				t.Errorf("%s/%s/%s", engine, folder, wrong)
			}
		}
	}
}

// TestMigrationsThatContract shows what the rule refuses, and what it lets through.
func TestMigrationsThatContract(t *testing.T) {
	t.Parallel()
	const up = "-- +goose Up\n"
	for _, tt := range []struct{ name, text, wrong string }{
		{"a table", `CREATE TABLE b (x TEXT NOT NULL); CREATE UNIQUE INDEX b_x ON b (x);`, ""},
		{"a column that may be empty", `ALTER TABLE a ADD COLUMN x TEXT;`, ""},
		{"a column with a default", "ALTER TABLE a -- more\n ADD COLUMN x TEXT NOT NULL DEFAULT '';", ""},
		{"what only makes reading faster", `DROP INDEX a_x; CREATE INDEX a_y ON a (y);`, ""},
		{"a function, and who calls it", "-- +goose StatementBegin\nCREATE FUNCTION f() RETURNS trigger AS $$ BEGIN DELETE FROM x; RETURN NULL; END $$;\n-- +goose StatementEnd\nCREATE TRIGGER f AFTER INSERT ON a EXECUTE FUNCTION f();", ""},
		{"how rows lie on pages", `ALTER TABLE a SET (fillfactor = 50); ALTER INDEX a_x SET (fillfactor = 50);`, ""},
		{"how long texts lie beside them", `ALTER TABLE a ALTER COLUMN x SET STORAGE EXTERNAL;`, ""},
		{"a condition that is written anew", `DROP INDEX a_x; CREATE UNIQUE INDEX a_x ON a (x) WHERE y <> 0;`, ""},
		{"what is there is written again", `UPDATE a SET x = 'drop table';`, ""},
		{"a column that the last version but one stopped using", "-- contract: unused since 00002\nALTER TABLE a DROP COLUMN x;", ""},

		{"a column that the version before may use", "-- contract: unused since 00004\nALTER TABLE a DROP COLUMN x;", "DROP COLUMN"},
		{"a column that nobody says is unused", `ALTER TABLE a DROP COLUMN x;`, "DROP COLUMN"},
		{"the same, in short", `ALTER TABLE a DROP x;`, "DROP x"},
		{"a table", `DROP TABLE a;`, "DROP TABLE"},
		{"after something harmless", `SELECT 1; DROP TABLE a;`, "DROP TABLE"},
		{"beside something that is added", `ALTER TABLE a ADD COLUMN y TEXT, DROP COLUMN x;`, "DROP COLUMN"},
		{"another name", `ALTER TABLE a RENAME COLUMN x TO y;`, "RENAME"},
		{"a column that former writers leave out", `ALTER TABLE a ADD COLUMN x TEXT NOT NULL;`, "NOT NULL"},
		{"one of two such columns", `ALTER TABLE a ADD COLUMN x TEXT, ADD COLUMN y TEXT NOT NULL;`, "NOT NULL"},
		{"another type", `ALTER TABLE a ALTER COLUMN x TYPE BIGINT;`, "ALTER COLUMN"},
		{"a condition that former writers do not know", `ALTER TABLE a ADD CONSTRAINT c CHECK (x > 0);`, "ADD CONSTRAINT"},
		{"the same, as an index", `CREATE UNIQUE INDEX a_x ON a (x);`, "UNIQUE"},
		{"rows that former readers want", `DELETE FROM a;`, "DELETE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := contracting(t, fstest.MapFS{
				"00002_old.sql": {Data: []byte(up + "DROP TABLE before_the_rule;")},
				"00004_new.sql": {Data: []byte(up + tt.text)},
			}, 2)
			if tt.wrong == "" && len(got) > 0 || tt.wrong != "" && (len(got) != 1 || !strings.Contains(got[0], tt.wrong)) {
				t.Errorf("found %q, want %q", got, tt.wrong)
			}
		})
	}
}

var (
	madeTable   = regexp.MustCompile(`(?i)^CREATE TABLE (?:IF NOT EXISTS )?(\w+)`)
	uniqueIndex = regexp.MustCompile(`(?i)^CREATE UNIQUE INDEX (\w+) ON (\w+)`)
	dropIndex   = regexp.MustCompile(`(?i)^DROP INDEX (\w+)`)
	alterTable  = regexp.MustCompile(`^ALTER TABLE \w+ (.*)$`)
	changes     = regexp.MustCompile(`\b(DROP|RENAME|ALTER|CONSTRAINT|UNIQUE)\b`)
	harmless    = regexp.MustCompile(`(?i)^(CREATE TABLE|CREATE INDEX|CREATE FUNCTION|CREATE TRIGGER|DROP INDEX|INSERT INTO|UPDATE|SELECT|ALTER (?:TABLE|INDEX) \w+ SET \(fillfactor|ALTER TABLE \w+ ALTER COLUMN \w+ SET STORAGE) `)
	unusedSince = regexp.MustCompile(`^-- contract: unused since (\d+)$`)
)

const addColumn = "ADD COLUMN "

// contracting lists what migrations behind a number take from the version before
// each of them.
func contracting(t *testing.T, files fs.FS, since int) (wrong []string) {
	t.Helper()
	names, err := fs.Glob(files, "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
	before := 0 // the migration that the version before has last
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		number, _, _ := strings.Cut(name, "_")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		if n > since {
			made := map[string]bool{}
			for _, s := range txStatements(string(text)) {
				if why := contracts(s, made, before); why != "" {
					wrong = append(wrong, fmt.Sprintf("%s: %s, which the version before may not survive: add first, and take away in a later migration, "+
						"behind a line `-- contract: unused since` with the number of the one whose version stopped using it: %s", name, why, s.text))
				}
			}
		}
		before = n
	}
	return wrong
}

// contracts says what a statement takes away; "" is nothing. made are the tables of
// the same migration, and the indexes that it drops: one that it makes anew under its
// name is to ask for no more than before.
func contracts(s statement, made map[string]bool, before int) string {
	if table := madeTable.FindStringSubmatch(s.text); table != nil {
		made[table[1]] = true
		return ""
	}
	if index := dropIndex.FindStringSubmatch(s.text); index != nil {
		made[index[1]] = true
	}
	index, alter := uniqueIndex.FindStringSubmatch(s.text), alterTable.FindStringSubmatch(strings.ToUpper(s.text))
	switch {
	case s.unused > 0 && s.unused <= before, harmless.MatchString(s.text), index != nil && (made[index[1]] || made[index[2]]):
		return ""
	case alter != nil && strings.HasPrefix(alter[1], addColumn) && !changes.MatchString(alter[1]):
		for added := range strings.SplitSeq(alter[1], addColumn) {
			if strings.Contains(added, "NOT NULL") && !strings.Contains(added, "DEFAULT") {
				return "it wants a value that former writers do not give"
			}
		}
		return ""
	}
	return "it changes what is there"
}

// statement is one of a migration, on one line. unused is the migration since whose
// version nobody uses what it takes away.
type statement struct {
	text   string
	unused int
}

// txStatements splits a migration as it is run.
func txStatements(text string) (all []statement) {
	var now []string
	unused, whole := 0, false
	end := func() {
		if s := strings.TrimSuffix(strings.Join(strings.Fields(strings.Join(now, " ")), " "), ";"); s != "" {
			all = append(all, statement{text: s, unused: unused})
			unused = 0
		}
		now = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := unusedSince.FindStringSubmatch(line); m != nil {
			unused, _ = strconv.Atoi(m[1])
		}
		switch line {
		case "-- +goose StatementBegin":
			whole = true
			continue
		case "-- +goose StatementEnd":
			whole = false
			end()
			continue
		}
		line, _, _ = strings.Cut(line, "--")
		if whole {
			now = append(now, line)
			continue
		}
		for {
			part, rest, more := strings.Cut(line, ";")
			now = append(now, part)
			if !more {
				break
			}
			end()
			line = rest
		}
	}
	end()
	return all
}
