! What the modules mpi and mpi_f08 share: types, kinds, constants, and the variables that
! MPI knows by their addresses.
!
! Made from the tables in fortran/ and tests/data/abi_constants.tsv by:
!   SUIRO_BLESS=1 cargo test --test fortran_modules

module mpi_types
  implicit none
  public

  integer, parameter :: MPI_ADDRESS_KIND = 8
  integer, parameter :: MPI_COUNT_KIND = 8
  integer, parameter :: MPI_INTEGER_KIND = 4
  integer, parameter :: MPI_OFFSET_KIND = 8
  integer, parameter :: MPI_STATUS_SIZE = 8
  integer, parameter :: MPI_SOURCE = 1
  integer, parameter :: MPI_TAG = 2
  integer, parameter :: MPI_ERROR = 3
  integer, parameter :: MPI_VERSION = 5
  integer, parameter :: MPI_SUBVERSION = 0
  integer, parameter :: MPI_ABI_VERSION = 1
  integer, parameter :: MPI_ABI_SUBVERSION = 0
  integer, parameter :: MPI_SUCCESS = 0
  integer, parameter :: MPI_ERR_BUFFER = 1
  integer, parameter :: MPI_ERR_COUNT = 2
  integer, parameter :: MPI_ERR_TYPE = 3
  integer, parameter :: MPI_ERR_TAG = 4
  integer, parameter :: MPI_ERR_COMM = 5
  integer, parameter :: MPI_ERR_RANK = 6
  integer, parameter :: MPI_ERR_REQUEST = 7
  integer, parameter :: MPI_ERR_ROOT = 8
  integer, parameter :: MPI_ERR_GROUP = 9
  integer, parameter :: MPI_ERR_OP = 10
  integer, parameter :: MPI_ERR_TOPOLOGY = 11
  integer, parameter :: MPI_ERR_DIMS = 12
  integer, parameter :: MPI_ERR_ARG = 13
  integer, parameter :: MPI_ERR_UNKNOWN = 14
  integer, parameter :: MPI_ERR_TRUNCATE = 15
  integer, parameter :: MPI_ERR_OTHER = 16
  integer, parameter :: MPI_ERR_INTERN = 17
  integer, parameter :: MPI_ERR_PENDING = 18
  integer, parameter :: MPI_ERR_IN_STATUS = 19
  integer, parameter :: MPI_ERR_ACCESS = 20
  integer, parameter :: MPI_ERR_AMODE = 21
  integer, parameter :: MPI_ERR_ASSERT = 22
  integer, parameter :: MPI_ERR_BAD_FILE = 23
  integer, parameter :: MPI_ERR_BASE = 24
  integer, parameter :: MPI_ERR_CONVERSION = 25
  integer, parameter :: MPI_ERR_DISP = 26
  integer, parameter :: MPI_ERR_DUP_DATAREP = 27
  integer, parameter :: MPI_ERR_FILE_EXISTS = 28
  integer, parameter :: MPI_ERR_FILE_IN_USE = 29
  integer, parameter :: MPI_ERR_FILE = 30
  integer, parameter :: MPI_ERR_INFO_KEY = 31
  integer, parameter :: MPI_ERR_INFO_NOKEY = 32
  integer, parameter :: MPI_ERR_INFO_VALUE = 33
  integer, parameter :: MPI_ERR_INFO = 34
  integer, parameter :: MPI_ERR_IO = 35
  integer, parameter :: MPI_ERR_KEYVAL = 36
  integer, parameter :: MPI_ERR_LOCKTYPE = 37
  integer, parameter :: MPI_ERR_NAME = 38
  integer, parameter :: MPI_ERR_NO_MEM = 39
  integer, parameter :: MPI_ERR_NOT_SAME = 40
  integer, parameter :: MPI_ERR_NO_SPACE = 41
  integer, parameter :: MPI_ERR_NO_SUCH_FILE = 42
  integer, parameter :: MPI_ERR_PORT = 43
  integer, parameter :: MPI_ERR_QUOTA = 44
  integer, parameter :: MPI_ERR_READ_ONLY = 45
  integer, parameter :: MPI_ERR_RMA_ATTACH = 46
  integer, parameter :: MPI_ERR_RMA_CONFLICT = 47
  integer, parameter :: MPI_ERR_RMA_RANGE = 48
  integer, parameter :: MPI_ERR_RMA_SHARED = 49
  integer, parameter :: MPI_ERR_RMA_SYNC = 50
  integer, parameter :: MPI_ERR_SERVICE = 51
  integer, parameter :: MPI_ERR_SIZE = 52
  integer, parameter :: MPI_ERR_SPAWN = 53
  integer, parameter :: MPI_ERR_UNSUPPORTED_DATAREP = 54
  integer, parameter :: MPI_ERR_UNSUPPORTED_OPERATION = 55
  integer, parameter :: MPI_ERR_WIN = 56
  integer, parameter :: MPI_ERR_RMA_FLAVOR = 57
  integer, parameter :: MPI_ERR_PROC_ABORTED = 58
  integer, parameter :: MPI_ERR_VALUE_TOO_LARGE = 59
  integer, parameter :: MPI_ERR_SESSION = 60
  integer, parameter :: MPI_ERR_ERRHANDLER = 61
  integer, parameter :: MPI_ERR_ABI = 62
  integer, parameter :: MPI_ERR_LASTCODE = 16383
  integer, parameter :: MPI_MAX_DATAREP_STRING = 127
  integer, parameter :: MPI_MAX_ERROR_STRING = 511
  integer, parameter :: MPI_MAX_INFO_KEY = 255
  integer, parameter :: MPI_MAX_INFO_VAL = 1023
  integer, parameter :: MPI_MAX_LIBRARY_VERSION_STRING = 8191
  integer, parameter :: MPI_MAX_OBJECT_NAME = 127
  integer, parameter :: MPI_MAX_PORT_NAME = 1023
  integer, parameter :: MPI_MAX_PROCESSOR_NAME = 255
  integer, parameter :: MPI_MAX_STRINGTAG_LEN = 1023
  integer, parameter :: MPI_MAX_PSET_NAME_LEN = 1023
  integer, parameter :: MPI_BSEND_OVERHEAD = 512
  integer, parameter :: MPI_MODE_APPEND = 1
  integer, parameter :: MPI_MODE_CREATE = 2
  integer, parameter :: MPI_MODE_DELETE_ON_CLOSE = 4
  integer, parameter :: MPI_MODE_EXCL = 8
  integer, parameter :: MPI_MODE_RDONLY = 16
  integer, parameter :: MPI_MODE_RDWR = 32
  integer, parameter :: MPI_MODE_SEQUENTIAL = 64
  integer, parameter :: MPI_MODE_UNIQUE_OPEN = 128
  integer, parameter :: MPI_MODE_WRONLY = 256
  integer, parameter :: MPI_MODE_NOCHECK = 1024
  integer, parameter :: MPI_MODE_NOPRECEDE = 2048
  integer, parameter :: MPI_MODE_NOPUT = 4096
  integer, parameter :: MPI_MODE_NOSTORE = 8192
  integer, parameter :: MPI_MODE_NOSUCCEED = 16384
  integer, parameter :: MPI_ANY_SOURCE = -1
  integer, parameter :: MPI_ANY_TAG = -2
  integer, parameter :: MPI_PROC_NULL = -3
  integer, parameter :: MPI_ROOT = -4
  integer, parameter :: MPI_UNDEFINED = -32766
  integer, parameter :: MPI_THREAD_SINGLE = 0
  integer, parameter :: MPI_THREAD_FUNNELED = 1024
  integer, parameter :: MPI_THREAD_SERIALIZED = 2048
  integer, parameter :: MPI_THREAD_MULTIPLE = 4096
  integer, parameter :: MPI_ORDER_C = 12
  integer, parameter :: MPI_ORDER_FORTRAN = 15
  integer, parameter :: MPI_DISTRIBUTE_NONE = 16
  integer, parameter :: MPI_DISTRIBUTE_BLOCK = 17
  integer, parameter :: MPI_DISTRIBUTE_CYCLIC = 18
  integer, parameter :: MPI_DISTRIBUTE_DFLT_DARG = 19
  integer, parameter :: MPI_COMBINER_NAMED = 101
  integer, parameter :: MPI_COMBINER_DUP = 102
  integer, parameter :: MPI_COMBINER_CONTIGUOUS = 103
  integer, parameter :: MPI_COMBINER_VECTOR = 104
  integer, parameter :: MPI_COMBINER_HVECTOR = 105
  integer, parameter :: MPI_COMBINER_INDEXED = 106
  integer, parameter :: MPI_COMBINER_HINDEXED = 107
  integer, parameter :: MPI_COMBINER_INDEXED_BLOCK = 108
  integer, parameter :: MPI_COMBINER_HINDEXED_BLOCK = 109
  integer, parameter :: MPI_COMBINER_STRUCT = 110
  integer, parameter :: MPI_COMBINER_SUBARRAY = 111
  integer, parameter :: MPI_COMBINER_DARRAY = 112
  integer, parameter :: MPI_COMBINER_F90_REAL = 113
  integer, parameter :: MPI_COMBINER_F90_COMPLEX = 114
  integer, parameter :: MPI_COMBINER_F90_INTEGER = 115
  integer, parameter :: MPI_COMBINER_RESIZED = 116
  integer, parameter :: MPI_COMBINER_VALUE_INDEX = 117
  integer, parameter :: MPIX_TYPECLASS_LOGICAL = 191
  integer, parameter :: MPI_TYPECLASS_INTEGER = 192
  integer, parameter :: MPI_TYPECLASS_REAL = 193
  integer, parameter :: MPI_TYPECLASS_COMPLEX = 194
  integer, parameter :: MPI_IDENT = 201
  integer, parameter :: MPI_CONGRUENT = 202
  integer, parameter :: MPI_SIMILAR = 203
  integer, parameter :: MPI_UNEQUAL = 204
  integer, parameter :: MPI_CART = 211
  integer, parameter :: MPI_GRAPH = 212
  integer, parameter :: MPI_DIST_GRAPH = 213
  integer, parameter :: MPI_COMM_TYPE_SHARED = 221
  integer, parameter :: MPI_COMM_TYPE_HW_UNGUIDED = 222
  integer, parameter :: MPI_COMM_TYPE_HW_GUIDED = 223
  integer, parameter :: MPI_COMM_TYPE_RESOURCE_GUIDED = 224
  integer, parameter :: MPI_LOCK_EXCLUSIVE = 301
  integer, parameter :: MPI_LOCK_SHARED = 302
  integer, parameter :: MPI_WIN_FLAVOR_CREATE = 311
  integer, parameter :: MPI_WIN_FLAVOR_ALLOCATE = 312
  integer, parameter :: MPI_WIN_FLAVOR_DYNAMIC = 313
  integer, parameter :: MPI_WIN_FLAVOR_SHARED = 314
  integer, parameter :: MPI_WIN_UNIFIED = 321
  integer, parameter :: MPI_WIN_SEPARATE = 322
  integer, parameter :: MPI_SEEK_CUR = 401
  integer, parameter :: MPI_SEEK_END = 402
  integer, parameter :: MPI_SEEK_SET = 403
  integer, parameter :: MPI_KEYVAL_INVALID = 0
  integer, parameter :: MPI_TAG_UB = 501
  integer, parameter :: MPI_IO = 502
  integer, parameter :: MPI_HOST = 503
  integer, parameter :: MPI_WTIME_IS_GLOBAL = 504
  integer, parameter :: MPI_APPNUM = 505
  integer, parameter :: MPI_LASTUSEDCODE = 506
  integer, parameter :: MPI_UNIVERSE_SIZE = 507
  integer, parameter :: MPI_WIN_BASE = 601
  integer, parameter :: MPI_WIN_DISP_UNIT = 602
  integer, parameter :: MPI_WIN_SIZE = 603
  integer, parameter :: MPI_WIN_CREATE_FLAVOR = 604
  integer, parameter :: MPI_WIN_MODEL = 605
  integer(MPI_OFFSET_KIND), parameter :: MPI_DISPLACEMENT_CURRENT = -1

  type, bind(C) :: MPI_Comm
    integer :: MPI_VAL
  end type MPI_Comm

  type, bind(C) :: MPI_Datatype
    integer :: MPI_VAL
  end type MPI_Datatype

  type, bind(C) :: MPI_Errhandler
    integer :: MPI_VAL
  end type MPI_Errhandler

  type, bind(C) :: MPI_File
    integer :: MPI_VAL
  end type MPI_File

  type, bind(C) :: MPI_Group
    integer :: MPI_VAL
  end type MPI_Group

  type, bind(C) :: MPI_Info
    integer :: MPI_VAL
  end type MPI_Info

  type, bind(C) :: MPI_Message
    integer :: MPI_VAL
  end type MPI_Message

  type, bind(C) :: MPI_Op
    integer :: MPI_VAL
  end type MPI_Op

  type, bind(C) :: MPI_Request
    integer :: MPI_VAL
  end type MPI_Request

  type, bind(C) :: MPI_Session
    integer :: MPI_VAL
  end type MPI_Session

  type, bind(C) :: MPI_Win
    integer :: MPI_VAL
  end type MPI_Win

  type, bind(C) :: MPI_Status
    integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR
    integer, private :: MPI_internal(5)
  end type MPI_Status

  interface operator(==)
    pure logical function MPI_Comm_equal(a, b) bind(C, name="suiro_equal")
      import
      type(MPI_Comm), intent(in) :: a, b
    end function
    pure logical function MPI_Datatype_equal(a, b) bind(C, name="suiro_equal")
      import
      type(MPI_Datatype), intent(in) :: a, b
    end function
    pure logical function MPI_Errhandler_equal(a, b) bind(C, name="suiro_equal")
      import
      type(MPI_Errhandler), intent(in) :: a, b
    end function
    pure logical function MPI_File_equal(a, b) bind(C, name="suiro_equal")
      import
      type(MPI_File), intent(in) :: a, b
    end function
    pure logical function MPI_Group_equal(a, b) bind(C, name="suiro_equal")
      import
      type(MPI_Group), intent(in) :: a, b
    end function
    pure logical function MPI_Info_equal(a, b) bind(C, name="suiro_equal")
      import
      type(MPI_Info), intent(in) :: a, b
    end function
    pure logical function MPI_Message_equal(a, b) bind(C, name="suiro_equal")
      import
      type(MPI_Message), intent(in) :: a, b
    end function
    pure logical function MPI_Op_equal(a, b) bind(C, name="suiro_equal")
      import
      type(MPI_Op), intent(in) :: a, b
    end function
    pure logical function MPI_Request_equal(a, b) bind(C, name="suiro_equal")
      import
      type(MPI_Request), intent(in) :: a, b
    end function
    pure logical function MPI_Session_equal(a, b) bind(C, name="suiro_equal")
      import
      type(MPI_Session), intent(in) :: a, b
    end function
    pure logical function MPI_Win_equal(a, b) bind(C, name="suiro_equal")
      import
      type(MPI_Win), intent(in) :: a, b
    end function
  end interface

  interface operator(/=)
    pure logical function MPI_Comm_unequal(a, b) bind(C, name="suiro_unequal")
      import
      type(MPI_Comm), intent(in) :: a, b
    end function
    pure logical function MPI_Datatype_unequal(a, b) bind(C, name="suiro_unequal")
      import
      type(MPI_Datatype), intent(in) :: a, b
    end function
    pure logical function MPI_Errhandler_unequal(a, b) bind(C, name="suiro_unequal")
      import
      type(MPI_Errhandler), intent(in) :: a, b
    end function
    pure logical function MPI_File_unequal(a, b) bind(C, name="suiro_unequal")
      import
      type(MPI_File), intent(in) :: a, b
    end function
    pure logical function MPI_Group_unequal(a, b) bind(C, name="suiro_unequal")
      import
      type(MPI_Group), intent(in) :: a, b
    end function
    pure logical function MPI_Info_unequal(a, b) bind(C, name="suiro_unequal")
      import
      type(MPI_Info), intent(in) :: a, b
    end function
    pure logical function MPI_Message_unequal(a, b) bind(C, name="suiro_unequal")
      import
      type(MPI_Message), intent(in) :: a, b
    end function
    pure logical function MPI_Op_unequal(a, b) bind(C, name="suiro_unequal")
      import
      type(MPI_Op), intent(in) :: a, b
    end function
    pure logical function MPI_Request_unequal(a, b) bind(C, name="suiro_unequal")
      import
      type(MPI_Request), intent(in) :: a, b
    end function
    pure logical function MPI_Session_unequal(a, b) bind(C, name="suiro_unequal")
      import
      type(MPI_Session), intent(in) :: a, b
    end function
    pure logical function MPI_Win_unequal(a, b) bind(C, name="suiro_unequal")
      import
      type(MPI_Win), intent(in) :: a, b
    end function
  end interface

  character :: MPI_ARGVS_NULL(1,1)
  character, private :: suiroargvsnull_fill(63)
  common /suiroargvsnull/ MPI_ARGVS_NULL, suiroargvsnull_fill
  character :: MPI_ARGV_NULL(1)
  character, private :: suiroargvnull_fill(63)
  common /suiroargvnull/ MPI_ARGV_NULL, suiroargvnull_fill
  integer :: MPI_BOTTOM
  integer, private :: suirobottom_fill(15)
  common /suirobottom/ MPI_BOTTOM, suirobottom_fill
  integer :: MPI_BUFFER_AUTOMATIC
  integer, private :: suirobufferautomatic_fill(15)
  common /suirobufferautomatic/ MPI_BUFFER_AUTOMATIC, suirobufferautomatic_fill
  integer :: MPI_ERRCODES_IGNORE(1)
  integer, private :: suiroerrcodesignore_fill(15)
  common /suiroerrcodesignore/ MPI_ERRCODES_IGNORE, suiroerrcodesignore_fill
  integer :: MPI_IN_PLACE
  integer, private :: suiroinplace_fill(15)
  common /suiroinplace/ MPI_IN_PLACE, suiroinplace_fill
  integer :: MPI_UNWEIGHTED(1)
  integer, private :: suirounweighted_fill(15)
  common /suirounweighted/ MPI_UNWEIGHTED, suirounweighted_fill
  integer :: MPI_WEIGHTS_EMPTY(1)
  integer, private :: suiroweightsempty_fill(15)
  common /suiroweightsempty/ MPI_WEIGHTS_EMPTY, suiroweightsempty_fill

  interface MPI_Sizeof
    subroutine MPI_Sizeof_f08ts(x, size, ierror) bind(C, name="mpi_sizeof_f08ts_")
      type(*), dimension(..) :: x
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine
  end interface

  interface PMPI_Sizeof
    subroutine PMPI_Sizeof_f08ts(x, size, ierror) bind(C, name="pmpi_sizeof_f08ts_")
      type(*), dimension(..) :: x
      integer, intent(out) :: size
      integer, intent(out), optional :: ierror
    end subroutine
  end interface
end module mpi_types
