package ocr

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
)

// checkKind lets images pass by what their first bytes say. It is strict,
// because tesseract takes what it does not know for a list of files to read:
// everything that passes here is an image to tesseract too.
func checkKind(data []byte) error {
	var why string
	switch {
	case isImage(data):
		return nil
	case len(data) == 0:
		why = "it is empty"
	case bytes.HasPrefix(data, []byte("%PDF-")):
		why = "it is a PDF, and only images are read: turn its pages into PNG images first, for example with pdftoppm -png -r 300"
	case isText(data):
		why = "it holds text, not an image: nothing needs to be recognised in it"
	default:
		why = "it is none of the kinds that are read: use PNG, JPEG, GIF, BMP, TIFF or WebP"
	}
	return unfit(junctor.CodeInvalid, imagePath, why)
}

func isImage(data []byte) bool {
	for _, magic := range []string{"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF87a", "GIF89a", "II*\x00", "MM\x00*"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return true
		}
	}
	return isBMP(data) || len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// isBMP looks at the size of the second header too: two letters are too few to
// tell an image by.
func isBMP(data []byte) bool {
	return len(data) >= 26 && string(data[:2]) == "BM" &&
		slices.Contains([]uint32{12, 40, 52, 56, 64, 108, 124}, binary.LittleEndian.Uint32(data[14:]))
}

// isText is for the message alone: text that is cut in a letter may pass for
// something else.
func isText(data []byte) bool {
	head := data[:min(len(data), 512)]
	control := func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f }
	return utf8.Valid(head) && !bytes.ContainsFunc(head, control)
}
