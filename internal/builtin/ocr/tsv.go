package ocr

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The TSV output of tesseract has a row for every page, block, paragraph, line and
// word, with its position, its confidence (0 to 100, or -1) and, for words, the text.
const (
	tsvHeader  = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\t"
	tsvColumns = 12
	wordLevel  = "5"
)

// parseTSV joins the words to lines, with an empty line between blocks. The
// confidence is the mean over all words.
func parseTSV(tsv []byte) (Text, error) {
	header, rows, _ := strings.Cut(strings.ToValidUTF8(string(tsv), "�"), "\n")
	if !strings.HasPrefix(header, tsvHeader) {
		return Text{}, errors.New("the row with the names of the columns is missing")
	}
	var sure shareMean
	var text strings.Builder
	var at struct{ block, line string } // of the last word
	n := 1
	for row := range strings.Lines(rows) {
		n++
		columns := strings.SplitN(strings.TrimRight(row, "\r\n"), "\t", tsvColumns)
		if len(columns) < tsvColumns-1 {
			return Text{}, fmt.Errorf("row %d has %d columns", n, len(columns))
		}
		if columns[0] != wordLevel || len(columns) < tsvColumns {
			continue
		}
		word := strings.TrimSpace(columns[11])
		if word == "" {
			continue
		}
		conf, err := strconv.ParseFloat(columns[10], 64)
		if err != nil || math.IsNaN(conf) {
			return Text{}, fmt.Errorf("row %d has no confidence", n)
		}
		// -1 means that tesseract has no confidence for the word.
		if conf >= 0 {
			sure.addShare(conf / 100)
		}
		block := strings.Join(columns[1:3], " ")
		line := strings.Join(columns[1:5], " ")
		switch {
		case text.Len() == 0:
		case line == at.line:
			text.WriteByte(' ')
		case block != at.block:
			text.WriteString("\n\n")
		default:
			text.WriteByte('\n')
		}
		text.WriteString(word)
		at.block, at.line = block, line
	}
	return Text{Text: text.String(), Confidence: sure.meanValue(), Lines: splitLines(text.String())}, nil
}
