package screen

import "strconv"

func appendCUP(b []byte, row, col int) []byte {
	b = append(b, "\x1b["...)
	b = strconv.AppendInt(b, int64(row), 10)
	b = append(b, ';')
	b = strconv.AppendInt(b, int64(col), 10)
	return append(b, 'H')
}

func appendMargins(b []byte, top, bottom int) []byte {
	b = append(b, "\x1b["...)
	b = strconv.AppendInt(b, int64(top), 10)
	b = append(b, ';')
	b = strconv.AppendInt(b, int64(bottom), 10)
	return append(b, 'r')
}

func appendCSI(b []byte, n int, final byte) []byte {
	b = append(b, "\x1b["...)
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, final)
}
