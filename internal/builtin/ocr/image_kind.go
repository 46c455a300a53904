package ocr

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
)

// checkKind accepts an image by its first bytes. It is strict because tesseract
// takes an unknown format for a list of files to read: everything that passes
// here must be an image to tesseract too. Otherwise a caller could make
// tesseract read files of this machine.
func checkKind(data []byte) error {
	var why string
	switch {
	case isImage(data):
		return nil
	case len(data) == 0:
		why = "it is empty"
	case bytes.HasPrefix(data, []byte("%PDF-")):
		why = "PDF is not supported: convert its pages to PNG images first, for example with pdftoppm -png -r 300"
	case isText(data):
		why = "it is text, not an image: no text recognition is needed"
	default:
		why = "its format is not supported: use PNG, JPEG, GIF, BMP, TIFF or WebP"
	}
	return newArgumentError(junctor.CodeInvalid, argImagePath, why)
}

// isImage reports whether data begins like an image of a supported format.
func isImage(data []byte) bool {
	for _, magic := range []string{"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF87a", "GIF89a", "II*\x00", "MM\x00*"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return true
		}
	}
	return isBMP(data) || len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// isBMP checks the size of the second header too, since the two letters at the
// begin are too few to recognise an image.
func isBMP(data []byte) bool {
	return len(data) >= 26 && string(data[:2]) == "BM" &&
		slices.Contains([]uint32{12, 40, 52, 56, 64, 108, 124}, binary.LittleEndian.Uint32(data[14:]))
}

// isText serves only a better message. A text that is cut inside a character
// may not be recognised.
func isText(data []byte) bool {
	head := data[:min(len(data), 512)]
	control := func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f }
	return utf8.Valid(head) && !bytes.ContainsFunc(head, control)
}
