//! Query strings.

use kube_informer_wire::Query;

pub(crate) fn strings(data: &[u8]) {
    let Ok(query) = Query::parse(&String::from_utf8_lossy(data)) else { return };
    let written = match &query {
        Query::List(options) => {
            options.check().expect("what is read keeps the rules");
            options.to_query()
        }
        Query::Watch(options) => {
            options.check().expect("what is read keeps the rules");
            options.to_query()
        }
    };
    assert_eq!(Query::parse(&written), Ok(query), "{written}");
}
