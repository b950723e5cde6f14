package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"sessiond/internal/client"
	v1 "sessiond/rpc/v1"
)

// readFiles makes attachments of files. What they are the server finds out by itself.
func readFiles(paths []string) ([]v1.Attachment, error) {
	files := make([]v1.Attachment, len(paths))
	for i, path := range paths {
		raw, err := os.ReadFile(path) //nolint:gosec // the user names the file
		if err != nil {
			return nil, err
		}
		files[i] = v1.Attachment{Name: filepath.Base(path), MimeType: mime.TypeByExtension(filepath.Ext(path))}
		if files[i].MimeType == "" {
			files[i].MimeType = "application/octet-stream"
		}
		if len(raw) == 0 { // data must not be empty
			files[i].Text = new("")
			continue
		}
		files[i].Data = new(base64.StdEncoding.EncodeToString(raw))
	}
	return files, nil
}

// fitting refuses files that are more than the server takes in one message, for which it
// would close the connection.
func fitting(ctx context.Context, conn *client.Conn, files []v1.Attachment) error {
	var info v1.ServerInfoResult
	if err := conn.Call(ctx, v1.MethodServerInfo, nil, &info); err != nil {
		return err
	}
	size := 0
	for _, f := range files {
		if f.Data != nil {
			size += len(*f.Data)
		}
	}
	if int64(size) > info.Limits.FrameBytes {
		return &finalError{fmt.Sprintf("the files are %d bytes in base64, and the server takes messages of %d", size, info.Limits.FrameBytes)}
	}
	return nil
}

// tellFiles says what became of the files.
func (s *sender) tellFiles(files []v1.SentFile) {
	for _, f := range files {
		told := fmt.Sprintf("%s: %d tokens", f.Name, f.Tokens)
		if f.ShownTokens < f.Tokens {
			told += fmt.Sprintf(", of which the model is shown %d", f.ShownTokens)
		}
		if len(f.Changes) > 0 {
			told += "; " + strings.Join(f.Changes, ", ")
		}
		_, _ = fmt.Fprintf(s.p.stderr, "[%s]\n", told)
	}
}
