package ingest

import "encoding/binary"

// upright is the orientation of a picture that is to be shown as it is.
const upright = 1

// readOrientation reads from EXIF data how a picture is to be turned, 1 to 8. Whatever
// is wrong with the data, the answer is upright, as with viewers.
func readOrientation(exif []byte) int {
	const (
		tag, short       = 0x0112, 3
		head, entry, max = 8, 12, 8
	)
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case len(exif) < head:
		return upright
	case begins(exif, "MM\x00*"):
		order = binary.BigEndian
	case !begins(exif, "II*\x00"):
		return upright
	}
	at := uint64(order.Uint32(exif[4:])) // of the first directory
	if at+2 > uint64(len(exif)) {
		return upright
	}
	dir := exif[at+2:]
	for range order.Uint16(exif[at:]) {
		if len(dir) < entry {
			break
		}
		if order.Uint16(dir) == tag && order.Uint16(dir[2:]) == short {
			if o := int(order.Uint16(dir[8:])); o >= upright && o <= max {
				return o
			}
		}
		dir = dir[entry:]
	}
	return upright
}
