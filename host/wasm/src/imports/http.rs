//! `http`: requests to the hosts that the row grants.

use crate::{
    bindings::damper::plugin::http::{Header, Host, HttpError, Request, Response},
    http,
    state::GuestState,
};

impl Host for GuestState {
    async fn send(&mut self, request: Request) -> wasmtime::Result<Result<Response, HttpError>> {
        let headers = request.headers.into_iter();
        let request = http::HttpRequest {
            method: request.method,
            url: request.url,
            headers: headers.map(|header| (header.name, header.value)).collect(),
            body: request.body,
        };
        // A response is handed to the guest as the arguments of a call are.
        let most = self.meter.limits().arguments;
        let left = self.meter.wall_time_left();
        let sent = self
            .around
            .http
            .send(&self.grants.http, request, most, left)
            .await;
        Ok(sent.map(response).map_err(error))
    }
}

fn response(response: http::HttpResponse) -> Response {
    let headers = response.headers.into_iter();
    Response {
        status: response.status,
        headers: headers
            .map(|(name, value)| Header { name, value })
            .collect(),
        body: response.body,
    }
}

fn error(error: http::HttpError) -> HttpError {
    match error {
        http::HttpError::NotGranted(why) => HttpError::NotGranted(why),
        http::HttpError::InvalidRequest(why) => HttpError::InvalidRequest(why),
        http::HttpError::TooLarge(bytes) => HttpError::TooLarge(bytes),
        http::HttpError::TimedOut => HttpError::TimedOut,
        http::HttpError::Failed(why) => HttpError::Failed(why),
    }
}
