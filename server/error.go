package server

import (
	"errors"
	"maps"
	"time"

	"sessiond/rpc"
	v1 "sessiond/rpc/v1"
	"sessiond/session"
)

// kindError is a failure of the contract's table.
func kindError(k v1.Kind, message string, retryAfter time.Duration) *rpc.Error {
	info, _ := k.Info()
	if message == "" {
		message = info.Message
	}
	return &rpc.Error{Code: info.Code, Message: message, Data: v1.NewErrorData(k, retryAfter)}
}

// wireError is the one place where errors of the domain become codes. What it does not
// know is internal: package rpc logs it and tells the client an incident number.
func wireError(err error) error {
	if param, ok := errors.AsType[*v1.ParamError](err); ok {
		return rpc.InvalidParams(param.Path, param.Reason)
	}
	e, ok := errors.AsType[*session.Error](err)
	if !ok {
		return err
	}
	if e.Kind == session.KindInvalidParam {
		path, _ := e.Data["path"].(string)
		reason, _ := e.Data["reason"].(string)
		return rpc.InvalidParams(path, reason)
	}
	info, ok := v1.Kind(e.Kind).Info()
	if !ok {
		return err
	}
	data := map[string]any{"kind": info.Kind, "retryable": info.Retryable}
	maps.Copy(data, e.Data)
	return &rpc.Error{Code: info.Code, Message: e.Message, Data: data}
}
