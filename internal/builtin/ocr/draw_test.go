package ocr

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
)

// glyphs are letters of five by seven dots.
func glyphs() map[rune]string {
	return map[rune]string{
		'A': ".###. #...# #...# ##### #...# #...# #...#",
		'C': ".###. #...# #.... #.... #.... #...# .###.",
		'E': "##### #.... #.... ####. #.... #.... #####",
		'H': "#...# #...# #...# ##### #...# #...# #...#",
		'L': "#.... #.... #.... #.... #.... #.... #####",
		'N': "#...# ##..# ##..# #.#.# #..## #..## #...#",
		'O': ".###. #...# #...# #...# #...# #...# .###.",
		'R': "####. #...# #...# ####. #.#.. #..#. #...#",
		'T': "##### ..#.. ..#.. ..#.. ..#.. ..#.. ..#..",
		'U': "#...# #...# #...# #...# #...# #...# .###.",
		'2': ".###. #...# ....# ...#. ..#.. .#... #####",
		'4': "...#. ..##. .#.#. #..#. ##### ...#. ...#.",
		'7': "##### ....# ...#. ..#.. .#... .#... .#...",
		' ': "..... ..... ..... ..... ..... ..... .....",
	}
}

// draw renders lines in black on white, each dot `scale` pixels wide.
func draw(t testing.TB, scale int, lines ...string) []byte {
	t.Helper()
	font, longest := glyphs(), 0
	for _, l := range lines {
		longest = max(longest, len(l))
	}
	img := image.NewGray(image.Rect(0, 0, (longest*6+8)*scale, (len(lines)*12+8)*scale))
	for i := range img.Pix {
		img.Pix[i] = 0xff
	}
	for row, line := range lines {
		for column, letter := range line {
			glyph, ok := font[letter]
			if !ok {
				t.Fatalf("the font has no %q", letter)
			}
			for y, dots := range strings.Fields(glyph) {
				for x, dot := range dots {
					if dot == '#' {
						fill(img, (4+column*6+x)*scale, (6+row*12+y)*scale, scale)
					}
				}
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func fill(img *image.Gray, left, top, size int) {
	for y := range size {
		for x := range size {
			img.SetGray(left+x, top+y, color.Gray{})
		}
	}
}
