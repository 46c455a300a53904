package postgres_test

import (
	"strconv"
	"strings"
	"testing"
)

// Rows that are named by their keys are looked up, however many they are: the
// table they are in is not read whole, nor searched first for what seems rare.
func TestZippedRowsAreLookedUp(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	db, d := openRaw(t, url), open(t, url).Database().Dialect
	for _, statement := range []string{
		`CREATE TABLE things (id TEXT COLLATE "C" PRIMARY KEY, n BIGINT NOT NULL)`,
		`INSERT INTO things SELECT 'thing ' || i, 0 FROM generate_series(1, 5000) AS i`,
		`ANALYZE things`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	keys := make([]string, 2000)
	for i := range keys {
		keys[i] = "thing " + strconv.Itoa(i)
	}
	query, args, err := d.Zip(keys, make([]int64, len(keys)))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.QueryContext(t.Context(), d.Bind(`EXPLAIN WITH r(thing, one) AS (`+query+`) UPDATE things SET n = one FROM r WHERE id = thing AND n > 0`), args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(line + "\n")
	}
	if err := rows.Err(); err != nil || !strings.Contains(plan.String(), "things_pkey") || strings.Contains(plan.String(), "Seq Scan") {
		t.Errorf("the plan is %v\n%s", err, plan.String())
	}
}
